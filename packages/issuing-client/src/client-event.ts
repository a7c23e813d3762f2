/** What a client tells about its work, for logs and metrics. Carries no key, no body, no personal data. */
import type { IssuingErrorCode } from "./errors.ts";

export type OperationName = "issueCard" | "getCard" | "listOperations" | "getConsent" | "setConsent" | "api";

export type ClientEvent =
  /** A request is about to go out. `attempt` counts from 1. */
  | { type: "attempt"; operation: OperationName; attempt: number }
  /** An attempt failed, and another follows after the pause. */
  | { type: "retry"; operation: OperationName; attempt: number; reason: RetryReason; pauseMs: number }
  /** The call is over: the service answered. */
  | { type: "response"; operation: OperationName; attempts: number; status: number; durationMs: number }
  /** The service announced that it will change or end an operation: its headers, once per operation. */
  | { type: "deprecation"; operation: OperationName; deprecation?: string; sunset?: string }
  /** The call is over without an answer. */
  | {
      type: "failure";
      operation: OperationName;
      attempts: number;
      code: IssuingErrorCode;
      durationMs: number;
    };

/** A status of the service, or why there was none. */
export type RetryReason = number | IssuingErrorCode;
