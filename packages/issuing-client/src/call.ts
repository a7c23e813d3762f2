/** A call of the client: what it sends, how its response is read, and what it reports. */
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { IssuingErrorCode } from "./errors.ts";
import type { Reading, UsableResponse } from "./response.ts";
import type { EarlierAttempts } from "./retry.ts";
import type { HttpRequest } from "./transport.ts";

export interface Call<Value = unknown> extends Pick<HttpRequest, "method" | "path" | "body"> {
  /**
   * Its `operationId`, which is also the name of the client's method; `api` for every call through
   * `client.api`.
   */
  operation: OperationId | "api";
  contentType?: string | undefined;
  /** The id in the path. */
  id?: string;
  idempotencyKey?: string | undefined;
  /** Default `none`. */
  earlier?: EarlierAttempts;
  /** Reads the body of a success. */
  read(response: UsableResponse): Reading<Value>;
  /** Returns the keys of the fields whose values differ from those that were sent. */
  findDifferentFields?(value: Value): string[];
}

export type CallEnd =
  /** The call ended with a response: a success, or an error of the service. */
  | { type: "response"; status: number }
  /** The call ended without a usable response. */
  | { type: "failure"; code: IssuingErrorCode }
  /** The caller aborted the call. */
  | { type: "abort" };

export type CallEvent =
  /**
   * A request is sent next, unless the listener aborts the call or uses up its time. `attempt`
   * counts from 1.
   */
  | { type: "attempt"; attempt: number; method: string }
  /**
   * An attempt failed, and is retried after `delayMs`. It has the `status` of the response, or the
   * `code` of a failure without one.
   */
  | { type: "retry"; attempt: number; status?: number; code?: IssuingErrorCode; delayMs: number }
  /**
   * The values of these fields on the card differ from those sent. The card may belong to an
   * earlier request with the same key, even to another person. The call succeeds all the same,
   * because the service may change values. Emitted by `issueCard` before `response`.
   */
  | { type: "fields-differ"; fieldKeys: string[] }
  | (CallEnd & { attempts: number; durationMs: number });

/**
 * An event of a call, for logs and metrics, without keys, bodies and personal data. All events of
 * one call have the same `callId`. A call that passed validation ends with one of `response`,
 * `failure` and `abort`.
 */
export type ClientEvent = CallEvent & {
  /** The method of the client that was called; `api` for every call through `client.api`. */
  operation: OperationId | "api";
  callId: number;
};

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
  /**
   * true when the service says that this is the response to an earlier request with the same key.
   */
  replayed?: boolean | undefined;
}
