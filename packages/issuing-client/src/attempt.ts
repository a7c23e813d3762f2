/** One attempt: sends the request once, reads the whole response within the time limit, and classifies failures. */
import type { Call, ExpectedBody } from "./call.ts";
import { TimeLimitError, waitWithin } from "./clock.ts";
import {
  type PendingRequest,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  UnreadableBodyError,
} from "./transport.ts";

/** A response whose body was read. */
export interface HttpResponse {
  status: number;
  head: Pick<TransportResponse, "header" | "headers">;
  text: string;
  /** The JSON of a success, a new object for each caller; undefined when the body is not JSON. */
  json(): unknown;
}

/** An attempt without a usable response. */
export interface AttemptFailure {
  code: "network" | "timeout" | "invalid-response" | "configuration";
  message: string;
  /** Whether the service may have received the request. */
  wasSent: boolean;
  retryable: boolean;
  /** The code of the runtime's error. Its message can quote the request or the response, and is dropped. */
  networkCode?: string;
}

export type AttemptResult = HttpResponse | AttemptFailure;

export const isFailure = (result: AttemptResult): result is AttemptFailure => "code" in result;

/** A response of the service has a few kilobytes. */
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
    return await waitWithin(
      { clock, endsAtMs, signal },
      readResponse(pending, url, call.expectedBody),
      (reason) => {
        pending.abort(reason);
        return undefined;
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TimeLimitError)) return networkFailure(error, false, url);
    const message = "The service did not respond in time.";
    return { code: "timeout", message, wasSent: true, retryable: true };
  }
}

async function readResponse(
  { response }: PendingRequest,
  url: string,
  expectedBody: ExpectedBody,
): Promise<AttemptResult> {
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
    if (status < 400) return readSuccess(head, text, expectedBody);
    return { status, head, text: isUtf8(head, text) ? text : "", json: () => undefined };
  } catch (error) {
    // The status of an error is enough when its body cannot be read.
    if (head !== undefined && head.status >= 400)
      return { status: head.status, head, text: "", json: () => undefined };
    if (error instanceof UnreadableBodyError) return invalidResponse(`${error.message}.`, error.retryable);
    return networkFailure(error, head !== undefined, url);
  }
}

function readSuccess(head: TransportResponse, text: string, expectedBody: ExpectedBody): AttemptResult {
  const { status } = head;
  let parsed = parseJson(text);
  if (parsed === undefined) {
    if (isHtml(head, text))
      return invalidResponse("an HTML page. Is baseUrl the address of the service?", true);
    const isUsable =
      expectedBody === "any" ||
      (expectedBody === "json-or-empty" && text === "") ||
      // The 202 of a method can have any body: `read` reports that the work is not done yet. openapi-fetch parses that of `client.api`.
      (expectedBody === "json" && status === 202);
    if (!isUsable) return invalidResponse("a body that is not JSON.", true);
  }
  if (!isUtf8(head, text)) return invalidResponse("a body whose charset is not UTF-8.", false);
  const json = () => {
    const value = parsed ?? parseJson(text);
    parsed = undefined;
    return value;
  };
  return { status, head, text, json };
}

/** Whether the body is an HTML page, such as that of a login or a proxy. `OK` as text/plain is not. */
function isHtml(head: TransportResponse, text: string): boolean {
  const start = text.slice(0, 2_000).trimStart();
  if (start.startsWith("<") && /<(!doctype\s+html|html|head|body)\b/i.test(start)) return true;
  return text !== "" && /^\s*text\/html\b/i.test(head.header("content-type") ?? "");
}

/** Whether the text is decoded correctly. Transports decode UTF-8, as JSON must be (RFC 8259, 8.1); ASCII is the same in other charsets. */
function isUtf8(head: TransportResponse, text: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(head.header("content-type") ?? "")?.[1] ?? "utf-8";
  return /^(utf-?8|us-ascii)$/i.test(charset) || /^[\t\n\r\x20-\x7e]*$/.test(text);
}

/** Returns undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
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
  /^(E[A-Z]{3,20}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_[A-Z\d_]+|HPE_[A-Z_]+|CERT_[A-Z_]+|(DEPTH|SELF|UNABLE)_[A-Z_]+|Connection[A-Za-z]+|FailedToOpenSocket|Malformed_HTTP_Response)$/;

/** The connection was not established (name not found, refused, untrusted certificate), so nothing was sent. */
const notConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_[A-Z_]+|ERR_TLS_CERT_ALTNAME_INVALID|ERR_INVALID_PROTOCOL|(DEPTH|SELF|UNABLE)_[A-Z_]+|ConnectionRefused|FailedToOpenSocket)$/;

/** Deno has no codes, and Node.js none for a connection that ends during the TLS handshake; their messages name the phase. */
const notConnectedByMessage =
  /client error \(Connect\)|dns error|before secure TLS connection was established/;

/** Codes of a failed TLS handshake, without the alerts that can also end an established connection, such as an internal error. */
const handshakeFailed =
  /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|UNSUPPORTED_PROTOCOL|(TLSV1|TLSV13|SSLV3)_ALERT_(HANDSHAKE_FAILURE|PROTOCOL_VERSION|NO_APPLICATION_PROTOCOL|CERTIFICATE_REQUIRED|UNKNOWN_CA)|TLSV1_UNRECOGNIZED_NAME))$/;

/** A TLS alert shows that the port speaks https. Deno has a message of its own for a port that does not. */
const tlsAlert = /alert/i;
const notTlsInDeno = /corrupt message of type InvalidContentType/;

/** undici 7 and Deno have no code. */
const notHttp =
  /HPE_INVALID_CONSTANT|Malformed_HTTP_Response|match the HTTP\/1\.1 protocol|invalid HTTP version/;

function networkFailure(error: unknown, hasStatus: boolean, url: string): AttemptFailure {
  const { code, syscall, message } = readNetworkError(error);
  const networkCode = code ?? "no code";
  const isHandshake = url.startsWith("https:") && !hasStatus && handshakeFailed.test(code ?? "");
  if ((isHandshake && !tlsAlert.test(`${code} ${message}`)) || notTlsInDeno.test(message)) {
    // Nothing of the request was sent, and another attempt would fail in the same way.
    return {
      code: "configuration",
      message: `The TLS handshake failed (${networkCode}): baseUrl is ${new URL(url).origin}, but that port does not seem to speak https. Use http:// for the mock service; otherwise correct the port.`,
      wasSent: false,
      retryable: false,
      networkCode,
    };
  }
  const isConnecting = syscall === undefined || syscall === "connect" || syscall === "getaddrinfo";
  const isNotConnected =
    isHandshake ||
    (code !== undefined && notConnected.test(code) && isConnecting) ||
    notConnectedByMessage.test(message);
  // Bytes of an earlier response on a kept connection cause the same code, so the service may have received the request.
  const hint = notHttp.test(`${code} ${message}`)
    ? ": the response is not HTTP. Does this port speak http?"
    : ".";
  return {
    code: "network",
    message: `The connection to ${new URL(url).origin} failed (${networkCode})${hint}`,
    wasSent: hasStatus || !isNotConnected,
    retryable: true,
    networkCode,
  };
}

/** Reads any thrown value, even one with getters that throw. Only known codes are returned: other text may quote the request. */
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
