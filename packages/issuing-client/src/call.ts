/** One call of one operation: what is sent, its events, and the metadata of its response. */
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { IssuingErrorCode } from "./errors.ts";

export interface Call {
  /** The method that was called; `api` for every call through `client.api`. */
  operation: OperationId | "api";
  method: string;
  /** Follows the address of the service. */
  path: string;
  contentType?: string | undefined;
  /** Undefined when the request has no body. */
  body?: string | undefined;
  /** The id in the path. */
  id?: string;
  /** Which bodies of a success are usable: JSON, what the content type says, or any text. Another body is a failure, which is retried. */
  expectedBody: "json" | "declared" | "text";
  idempotencyKey?: string | undefined;
  /** Whether the caller knows of an attempt with the same key before this call. */
  hasEarlierAttempt?: boolean | undefined;
}

export type CallEnd =
  /** The call ended with a response: a success, or an error of the service. */
  | { type: "response"; status: number }
  /** The call ended without a usable response. */
  | { type: "failure"; code: IssuingErrorCode }
  /** The caller aborted the call. */
  | { type: "abort" };

export type CallEvent =
  /** A request is sent next, unless the listener aborts the call or uses up its time. `attempt` counts from 1. */
  | { type: "attempt"; attempt: number; method: string }
  /** An attempt failed, and is retried after `delayMs`. It has the `status` of the response, or the `code` of a failure without one. */
  | { type: "retry"; attempt: number; status?: number; code?: IssuingErrorCode; delayMs: number }
  /**
   * The values of these fields on the card differ from those sent. The card may belong to an earlier request with the same key, even to
   * another person. The call succeeds all the same, because the service may change values. Emitted by `issueCard` before `response`.
   */
  | { type: "fields-differ"; fieldKeys: string[] }
  | (CallEnd & { attempts: number; durationMs: number });

/**
 * An event of a call, for logs and metrics, without keys, bodies and personal data. All events of one call have the same `callId`.
 * A call that passed validation ends with one of `response`, `failure` and `abort`.
 */
export type ClientEvent = CallEvent & Pick<Call, "operation"> & { callId: number };

/** Metadata of a response. */
export interface ResponseMeta {
  status: number;
  headers: Headers;
  /** How many requests the call has sent. */
  attempts: number;
  durationMs: number;
  idempotencyKey?: string | undefined;
  /** The service's identifier of the request, when the response has one. */
  requestId?: string | undefined;
  /** true when the service says that this is the response to an earlier request with the same key. */
  replayed?: boolean | undefined;
}
