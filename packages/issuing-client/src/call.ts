/** What the parts of the client pass on: a call, its request and response, and its events. */
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { IssuingErrorCode } from "./errors.ts";

export interface Call {
  /** The operation, which is also the name of the client's method; `api` for every call through `client.api`. */
  operation: OperationId | "api";
  method: string;
  /** Follows the address of the service. */
  path: string;
  contentType?: string | undefined;
  /** Undefined when the request has no body. */
  body?: string | undefined;
  /** The id in the path. */
  id?: string;
  idempotencyKey?: string | undefined;
  /** Whether the caller knows of an attempt with the same key before this call. */
  hasEarlierAttempt?: boolean | undefined;
}

/** A request to the service. Everything in it is text, so it can be sent again. */
export interface HttpRequest extends Pick<Call, "method" | "path" | "body"> {
  /** Names in lower case. */
  headers: Record<string, string>;
}

export interface HttpResponse {
  status: number;
  /** Returns the value of a header, or null. @param name in lower case. */
  header(name: string): string | null;
  headers(): Headers;
  /** The body as UTF-8; `""` for a redirect, whose body is not read, and for a body that cannot be read. */
  text: string;
  bodyFailure?: AttemptFailure | undefined;
}

/** Sends one request to the service whose address it was created with. It follows no redirect and does not retry: `send` applies time limits and retries. */
export type Transport = (request: HttpRequest) => {
  /** Resolves when the body has arrived, or when the connection failed before the head of a response. */
  response: Promise<HttpResponse | AttemptFailure>;
  /** Ends the request, also while the body is read. */
  abort(): void;
};

/** An attempt without a usable response. */
export interface AttemptFailure {
  code: "network" | "timeout" | "deadline" | "invalid-response" | "configuration";
  message: string;
  /** Whether the service may have received the request. */
  wasSent: boolean;
  retryable: boolean;
  status?: number;
  /** The code of the runtime's error. */
  networkCode?: string | undefined;
  /** The id of a card that exists although the response is invalid. */
  cardId?: string | undefined;
}

/** @param what completes the sentence "The service responded with …". */
export function toUnusable(status: number, what: string, retryable = false): AttemptFailure {
  const message = `The service responded with ${what}`;
  return { code: "invalid-response", message, wasSent: true, retryable, status };
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

/** A response of the service has a few kilobytes. */
export const maxBodyBytes = 4 * 1024 * 1024;
export const toTooLong = (status: number) => toUnusable(status, `more than ${maxBodyBytes} bytes.`);

/** Creates `Headers`, without the names and values that HTTP parsers accept and `Headers` does not. */
export function toHeaders(pairs: Iterable<readonly [string, string]>): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) {
    try {
      headers.append(name, value);
    } catch {
      // The rest of the response is usable.
    }
  }
  return headers;
}
