/** The face of the package: verify, receive, sign. Frameworks have their own entries. */

// Receiving
export type { Answer } from "./answer.ts";
export { type DedupeStore, type MemoryDedupeOptions, memoryDedupe } from "./dedupe.ts";
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
export type { HeadersLike } from "./headers.ts";
export {
  type EventHandlers,
  type HandlersOfEveryEvent,
  type HandlersWithOther,
  onEvents,
} from "./on-events.ts";
export type { ReceiverOutcome } from "./outcome.ts";
export type { RawBody } from "./raw-body.ts";
export type { ReceivedRequest } from "./reading.ts";
export { createReceiver, type Receiver, type ReceiverOptions } from "./receiver.ts";
export type { Secret } from "./secret.ts";
export type { SecretOption } from "./secret-source.ts";
// Verifying and signing
export { type SignInput, signWebhook, signWebhookSync } from "./sign.ts";
export type { Delivery, Inbox } from "./take-over.ts";
export {
  isWebhookVerificationError,
  type VerificationFault,
  WebhookVerificationError,
} from "./verification-error.ts";
export { type VerifyInput, verifyWebhook, verifyWebhookSync } from "./verify.ts";
