/** One attempt: sends the request once, reads the whole response within the time limit, and classifies failures. */
import type { Call } from "./call.ts";
import { TimeLimitError, waitWithin } from "./clock.ts";
import {
  isUnreadableBodyError,
  type PendingRequest,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

/** A response whose body was read. */
export interface HttpResponse {
  status: number;
  head: Pick<TransportResponse, "header" | "headers">;
  text: string;
  /** The body of a success, a new object for each caller; undefined when it is empty. */
  json(): unknown;
}

/** An attempt without a usable response. */
export interface AttemptFailure {
  code: "network" | "timeout" | "invalid-response";
  message: string;
  /** Whether the service may have received the request. */
  wasSent: boolean;
  retryable: boolean;
  /** The code of the runtime's error. Its message can quote the request or the response, and is dropped. */
  networkCode?: string;
}

export type AttemptResult = HttpResponse | AttemptFailure;

export const isFailure = (result: AttemptResult): result is AttemptFailure => "code" in result;

/** Responses of the service have a few kilobytes. */
const maxBodyBytes = 4 * 1024 * 1024;

/** Sends the request once. @throws the reason of the call's signal. */
export async function attempt(
  call: Call,
  transport: Transport,
  url: string,
  request: TransportRequest,
): Promise<AttemptResult> {
  const { clock, signal } = call;
  const startedAtMs = clock.monotonicMs();
  const endsAtMs = () => startedAtMs + call.timeoutMs;
  try {
    const pending = transport(url, request);
    return await waitWithin({ clock, endsAtMs, signal }, readResponse(pending, request.method), (reason) => {
      pending.abort(reason);
      return undefined;
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TimeLimitError)) return networkFailure(error, false);
    const message = "The service did not respond in time.";
    return { code: "timeout", message, wasSent: true, retryable: true };
  }
}

async function readResponse({ response }: PendingRequest, method: string): Promise<AttemptResult> {
  let head: TransportResponse | undefined;
  try {
    head = await response;
    const { status } = head;
    const isRedirect = status >= 300 && status < 400;
    if (isRedirect || !(status >= 200 && status <= 599)) {
      head.discard();
      return isRedirect
        ? invalidResponse("a redirect, which is not followed. Is baseUrl the address of the service?", false)
        : invalidResponse(`the invalid status ${status}.`, true);
    }
    const text = await head.text(maxBodyBytes);
    return status < 400 ? readSuccess(head, text, method) : { status, head, text, json: () => undefined };
  } catch (error) {
    // The status of an error is enough when its body cannot be read.
    if (head !== undefined && head.status >= 400)
      return { status: head.status, head, text: "", json: () => undefined };
    if (isUnreadableBodyError(error)) return invalidResponse(`${error.message}.`, error.retryable);
    return networkFailure(error, head !== undefined);
  }
}

function readSuccess(head: TransportResponse, text: string, method: string): AttemptResult {
  let parsed = parseJson(text);
  // The body of the response to a PUT is not specified (spec 4.5): the change was made in any case.
  if (parsed === undefined && method !== "PUT") return invalidResponse("a body that is not JSON.", true);
  const json = () => {
    const value = parsed ?? parseJson(text);
    parsed = undefined;
    return value;
  };
  return { status: head.status, head, text, json };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalidResponse(what: string, retryable: boolean): AttemptFailure {
  const message = `The service responded with ${what}`;
  return { code: "invalid-response", message, wasSent: true, retryable };
}

/** Error codes of undici, Node.js, Bun and TLS libraries. */
const knownCode =
  /^(E[A-Z]{3,20}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|HPE_[A-Z_]+|CERT_[A-Z_]+|(DEPTH|SELF|UNABLE)_[A-Z_]+|Connection[A-Za-z]+|FailedToOpenSocket)$/;

/** The connection was not established (name not found, refused, untrusted certificate), so nothing was sent. */
const notConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_[A-Z_]+|ERR_TLS_CERT_ALTNAME_INVALID|ERR_INVALID_PROTOCOL|(DEPTH|SELF|UNABLE)_[A-Z_]+|ConnectionRefused|FailedToOpenSocket)$/;

/** Deno has no codes; its message names the phase. */
const notConnectedInDeno = /client error \(Connect\)|dns error/;

function networkFailure(error: unknown, hasStatus: boolean): AttemptFailure {
  const { code, syscall, message } = readNetworkError(error);
  const isConnecting = syscall === undefined || syscall === "connect" || syscall === "getaddrinfo";
  const isNotConnected =
    code === undefined ? notConnectedInDeno.test(message) : notConnected.test(code) && isConnecting;
  const networkCode = code ?? "no code";
  return {
    code: "network",
    message: `The connection to the service failed (${networkCode}).`,
    wasSent: hasStatus || !isNotConnected,
    retryable: true,
    networkCode,
  };
}

/** The error can be any value, with getters that throw. A code is returned only when it is known: other text may quote the request. */
function readNetworkError(error: unknown): { code?: string; syscall?: unknown; message: string } {
  try {
    const outer = (error ?? {}) as { code?: unknown; cause?: unknown; message?: unknown; syscall?: unknown };
    const inner = (outer.cause ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown };
    const { code, syscall } = isKnownCode(outer.code) ? outer : inner;
    return { ...(isKnownCode(code) && { code }), syscall, message: `${outer.message} ${inner.message}` };
  } catch {
    return { message: "" };
  }
}

const isKnownCode = (code: unknown): code is string => typeof code === "string" && knownCode.test(code);
