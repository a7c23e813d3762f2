/** The face of the package: a client, its templates, keys, links and errors. */

export type { Api } from "./api.ts";
export type { CallOptions, ResponseMeta } from "./call.ts";
export { type CardLinks, type CardLinksOptions, cardLinks } from "./card-links.ts";
// Cards and what belongs to them
export type { Card, Consents, Customer, IssueCardRequest } from "./cards.ts";
// The client
export { createIssuingClient, type IssuingClient } from "./client.ts";
export type { ClientEvent, OperationName, RetryReason } from "./client-event.ts";
export type { Clock } from "./clock.ts";
export type { ConsentChange, ConsentState } from "./consent.ts";
// Errors
export { IssuingError, type IssuingErrorCode, isIssuingError, type Outcome, ProblemError } from "./errors.ts";
export type { RejectedField } from "./fields.ts";
export type { Operation } from "./history.ts";
// Idempotency
export { type DeriveInput, deriveIdempotencyKey, type UserId } from "./idempotency.ts";
export type { IssueCardOptions } from "./issue-card.ts";
export type { IssuingClientOptions } from "./options.ts";
export type { ProblemDetails } from "./problem.ts";
export { defineTemplate, type FieldValues, type Template } from "./template.ts";
