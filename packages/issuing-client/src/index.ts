/** Entry point: the client, templates, idempotency keys, card links and errors. */

export type { paths } from "./api.ts";
export type { ClientEvent, ResponseMeta } from "./call.ts";
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
export { createIssuingClient, type IssuingClient } from "./client.ts";
export {
  IssuingError,
  type IssuingErrorCode,
  isIssuingError,
  type ProblemDetails,
  type RejectedField,
} from "./errors.ts";
export { deriveIdempotencyKey, type UserId } from "./idempotency.ts";
export type { IssueCardOptions } from "./issue-card.ts";
export { type CardLinks, cardLinks } from "./links.ts";
export type { CallOptions, IssuingClientOptions } from "./options.ts";
