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
export {
  type Delivery,
  isKnownEvent,
  type KnownEvent,
  type UnknownEvent,
  type WebhookEvent,
} from "./event.ts";
export { type EventHandlers, onEvents } from "./on-events.ts";
export type { Inbox, ReceiverOptions } from "./options.ts";
export type { ReceiverOutcome } from "./outcomes.ts";
// Verifying and signing
export {
  isWebhookVerificationError,
  type VerificationErrorReason,
  WebhookVerificationError,
} from "./reasons.ts";
export { createReceiver, type Receiver, type ReceiverResponse } from "./receiver.ts";
export type { Secret } from "./secrets.ts";
export {
  signWebhook,
  signWebhookSync,
  type VerifyInput,
  verifyWebhook,
  verifyWebhookSync,
} from "./verify.ts";
