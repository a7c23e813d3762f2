/** Entry point: the client, templates, idempotency keys, card links and errors. */

// The client

export type { ClientEvent, ResponseMeta } from "./call.ts";
export { createIssuingClient, type IssuingClient } from "./client.ts";
export type { IssueCardOptions } from "./issue-card.ts";
export type { CallOptions, IssuingClientOptions } from "./options.ts";

// Cards

export {
  type Card,
  type ConsentState,
  type Customer,
  defineTemplate,
  type FieldValues,
  type IssueCardRequest,
  type Operation,
  type Template,
} from "./cards.ts";
export { type CardLinks, cardLinks } from "./links.ts";

// Errors

export {
  IssuingError,
  type IssuingErrorCode,
  isIssuingError,
  type ProblemDetails,
  type RejectedField,
} from "./errors.ts";

// Idempotency

export { deriveIdempotencyKey, type UserId } from "./idempotency.ts";
