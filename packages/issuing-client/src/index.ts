/** Entry point: the client, templates, idempotency keys, card links and errors. */

export type { paths } from "./api.ts";
export type { ClientEvent, ResponseMeta } from "./call.ts";
export { createIssuingClient, type IssuingClient } from "./client.ts";
export {
  IssuingError,
  type IssuingErrorCode,
  isIssuingError,
  type ProblemDetails,
  type RejectedField,
} from "./errors.ts";
export { deriveIdempotencyKey, type UserId } from "./idempotency.ts";
export { type CardLinks, cardLinks } from "./links.ts";
export type { CallOptions, IssuingClientOptions } from "./options.ts";
export {
  type Customer,
  defineTemplate,
  type FieldValues,
  type IssueCardOptions,
  type IssueCardRequest,
  type Template,
} from "./request.ts";
export type { Card, ConsentState, Operation } from "./response.ts";
