/** Verifies, receives and signs webhooks. Each framework has its own entry point. */

export type { HeadersLike, RawBody } from "./body.ts";
// Receiving
export {
  type DedupeStore,
  type Delivery,
  type Inbox,
  type MemoryDedupeOptions,
  memoryDedupe,
} from "./dedupe.ts";
// Events
export {
  type BalanceChanged,
  type CardAdded,
  type CardRemoved,
  type ConsentChanged,
  isKnownEvent,
  type KnownEvent,
  type KnownEvents,
  type KnownEventType,
  type Ping,
  type TierChanged,
  type UnknownEvent,
  type WalletChange,
  type WebhookEvent,
} from "./event.ts";
export {
  type EventHandlers,
  type HandlersOfEveryEvent,
  type HandlersWithOtherTypes,
  type OnEventsOptions,
  onEvents,
} from "./on-events.ts";
export type { ReceiverOptions } from "./options.ts";
export type { ReceiverOutcome } from "./outcome.ts";
export { createReceiver, type ReceivedRequest, type Receiver } from "./receiver.ts";
export type { ReceiverResponse } from "./responses.ts";
export type { Secret, SecretOption } from "./secrets.ts";
// Verifying and signing
export {
  isWebhookVerificationError,
  type VerificationErrorReason,
  WebhookVerificationError,
} from "./signature.ts";
export {
  type SignInput,
  signWebhook,
  signWebhookSync,
  type VerifyInput,
  verifyWebhook,
  verifyWebhookSync,
} from "./verify.ts";
