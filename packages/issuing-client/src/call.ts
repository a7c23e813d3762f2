/** One call: what it sends, its events, and what a caller learns of its response. */
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { configurationError, type IssuingErrorCode, isPromise } from "./errors.ts";
import type { ExpectedBody } from "./response.ts";

/** The method that was called; `api` for every call through `client.api`. */
export type OperationName = OperationId | "api";

export type CallEnd =
  /** The call ended with a response: a success, or an error of the service. */
  | { type: "response"; status: number }
  /** The call ended without a usable response. */
  | { type: "failure"; code: IssuingErrorCode }
  /** The caller aborted the call after a request was sent. */
  | { type: "abort" };

export type CallEvent =
  /** A request is sent next, synchronously after the event. `attempt` counts from 1. */
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
 * `response`, `failure` and `abort` end a call; each call has one of them.
 */
export type ClientEvent = CallEvent & { callId: number; operation: OperationName };

/** Metadata of a response. */
export interface ResponseMeta {
  status: number;
  headers: Headers;
  /** How many requests the call has sent. */
  attempts: number;
  /** The service's identifier of the request, when the response has one. */
  requestId?: string;
  idempotencyKey?: string;
  /** true when the service says that this is the response to an earlier request with the same key. Absent when it does not say. */
  replayed?: boolean;
  durationMs: number;
}

/** One call of one operation. */
export interface Call {
  operation: OperationName;
  method: string;
  /** The address of the service; `path` follows it. */
  baseUrl: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON. */
  body?: string | undefined;
  /** The id in the path, for the message of a 404. */
  id?: string;
  expectedBody: ExpectedBody;
  idempotencyKey?: string | undefined;
  /** Whether the caller knows of an attempt with the same key before this call. */
  hasEarlierAttempt?: boolean;
}

/**
 * Creates the call of an operation.
 * @param id the id in the path.
 * @param given `query` begins with `?`; `body` is JSON.
 */
export function createCall(
  baseUrl: string,
  operation: OperationId,
  id: string,
  {
    query = "",
    ...given
  }: { query?: string; body?: string; idempotencyKey?: string; hasEarlierAttempt?: boolean } = {},
): Call {
  const { method, path } = operations[operation];
  const headers: Record<string, string> = { accept: "application/json, application/problem+json" };
  if (given.body !== undefined) headers["content-type"] = "application/json";
  if (given.idempotencyKey !== undefined) headers["idempotency-key"] = given.idempotencyKey;
  return {
    operation,
    method,
    baseUrl,
    path: `/api/v1${path.replace(/\{\w+\}/, () => encodeURIComponent(id))}${query}`, // spec 9
    headers,
    id,
    // The specification does not show the response to setConsent, so every body is usable (spec 4.5).
    expectedBody: operation === "setConsent" ? "any" : "json",
    ...given,
  };
}

/** @throws {IssuingError} `configuration` for a value that cannot be a path segment. */
export function parseId(name: string, id: unknown): string {
  if (isPromise(id)) throw configurationError(`The ${name} is a promise: await it.`);
  if (typeof id !== "string" || id.trim() === "")
    throw configurationError(`The ${name} is missing or empty.`);
  // Dot segments would change the path; all other characters are encoded.
  if (id === "." || id === "..") throw configurationError(`The ${name} is "${id}", which is not an id.`);
  if (!id.isWellFormed()) throw configurationError(`The ${name} is not well-formed text.`);
  return id;
}

/** Returns the value as JSON, so that later changes by the caller have no effect. */
export function toJson(name: string, value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    throw configurationError(
      `${name} cannot be serialized as JSON: it has a bigint or a circular reference.`,
    );
  }
}
