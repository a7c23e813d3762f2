/** What a client tells about its work, for logs and metrics. Carries no key, no body, no personal data. */
import type { IssuingErrorCode } from "./errors.ts";

/** The method that was called; `api` for everything that went through `client.api`. */
export type OperationName = "issueCard" | "getCard" | "listOperations" | "getConsent" | "setConsent" | "api";

/** What happened to a call. */
export type Happening =
  /** A request is about to go out: what is told comes before it in the same turn. `attempt` counts from 1. */
  | { type: "attempt"; attempt: number; method: string }
  /** An attempt failed, and another follows after the pause. */
  | { type: "retry"; attempt: number; reason: RetryReason; pauseMs: number }
  /** The service announced that it will change or end an operation: its headers, once per operation. */
  | { type: "deprecation"; deprecation?: string; sunset?: string }
  /** The call is over: the service answered as promised, or with a problem. */
  | { type: "response"; attempts: number; status: number; durationMs: number }
  /** The call is over without an answer that can be used. */
  | { type: "failure"; attempts: number; code: IssuingErrorCode; durationMs: number }
  /** The call is over: the caller aborted it after it had begun to send. */
  | { type: "abort"; attempts: number; durationMs: number };

/** `call` is a number that the events of one call have in common. The last three are the end of one, and come once. */
export type ClientEvent = Happening & { call: number; operation: OperationName };

/** A status of the service, or why there was none. */
export type RetryReason = number | IssuingErrorCode;
