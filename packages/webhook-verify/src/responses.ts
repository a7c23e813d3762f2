/** The responses of the receiver, as tables. A rejection does not say why: the reason is reported to `onOutcome` only. */
import type { WebhookEvent } from "./event.ts";
import type { Misconfiguration, Rejection } from "./reporter.ts";

/** The response to a delivery, for any framework. */
export interface ReceiverResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The verified event, if there is one. */
  event?: WebhookEvent;
  /** Runs `afterResponse`. Call it when the response has been sent. Never rejects. */
  afterResponse?: () => Promise<void>;
}

/**
 * The service delivers again. The delay in seconds is that of its first retry ([spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
export const unavailable: ReceiverResponse = { status: 503, headers: { "retry-after": "60" } };

const unauthorized: ReceiverResponse = { status: 401, headers: {} }; // spec 5.8
/** Closes the connection when the body is not read to its end. */
const closeConnection = { connection: "close" };

export const rejectionResponses: Record<Rejection, ReceiverResponse> = {
  "missing-signature": unauthorized,
  "malformed-signature": unauthorized,
  stale: unauthorized,
  future: unauthorized,
  mismatch: unauthorized,
  "invalid-payload": { status: 400, headers: {} },
  "method-not-allowed": { status: 405, headers: { allow: "POST" } },
  "too-large": { status: 413, headers: closeConnection },
  "unsupported-encoding": { status: 415, headers: { "accept-encoding": "identity" } },
  unreadable: { status: 400, headers: closeConnection },
  timeout: { status: 408, headers: closeConnection },
};

const serverError: ReceiverResponse = { status: 500, headers: {} };

export const misconfigurationResponses: Record<Misconfiguration, ReceiverResponse> = {
  "already-consumed": serverError,
  "invalid-clock": serverError,
  "no-secret": serverError,
  "secret-timeout": unavailable,
};
