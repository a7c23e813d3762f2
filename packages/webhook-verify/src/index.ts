/** Verifies, receives and signs webhooks. Each framework has its own entry point. */

// Events
export type {
  BalanceChanged,
  CardAdded,
  CardRemoved,
  ConsentChanged,
  Ping,
  TierChanged,
} from "@loyalty-cards/openapi/types";
// Receiving
export { type DedupeStore, memoryDedupe } from "./dedupe.ts";
export type { Delivery, Inbox } from "./delivery.ts";
export { isKnownEvent, type KnownEvent, type UnknownEvent, type WebhookEvent } from "./event.ts";
export { type EventHandlers, onEvents } from "./on-events.ts";
export type { ReceiverOptions } from "./options.ts";
export { createReceiver, type Receiver } from "./receiver.ts";
export type { ReceiverOutcome } from "./reporter.ts";
export type { ReceiverResponse } from "./responses.ts";
export type { Secret } from "./secrets.ts";
// Verifying and signing
export {
  isWebhookVerificationError,
  type VerificationErrorReason,
  WebhookVerificationError,
} from "./signature.ts";
export {
  signWebhook,
  signWebhookSync,
  type VerifyInput,
  verifyWebhook,
  verifyWebhookSync,
} from "./verify.ts";
