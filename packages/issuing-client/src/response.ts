/**
 * Reads a response: a body that a method can use, the body of an error, or why the attempt has no
 * usable response.
 */
import type { Result } from "@loyalty-cards/internal/result";
import type { EndpointId } from "@loyalty-cards/openapi/endpoints";
import { type AttemptFailure, type HttpResponse, unusable } from "./transport.ts";

/** A response that a method or an error can use. */
export interface UsableResponse extends Pick<HttpResponse, "status" | "header" | "headers"> {
  text: string;
  /** The text as JSON; undefined when it is not JSON. */
  json: unknown;
  /** How long the service asked to wait. */
  retryAfterMs?: number | undefined;
}

/** How an attempt ended: with a response, or without a usable one. */
export type AttemptResult = Result<UsableResponse, AttemptFailure>;

/** What a method makes of the body of a success. */
export type Reading<Value> = Result<Value, AttemptFailure>;

export const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/**
 * Decides whether a response is usable: JSON, and for `client.api` an empty body or what the
 * content type says.
 * @param dateMs the date, from which a `Retry-After` with a date is counted.
 */
export function readResponse(
  response: HttpResponse,
  endpoint: EndpointId | "api",
  dateMs: number,
): AttemptResult {
  const { status } = response;
  if (isRedirect(status))
    return unusable(
      status,
      "a redirect, which is not followed. Is baseUrl the address of the service?",
    );
  if (!(status >= 200 && status < 600))
    return unusable(status, `the invalid status ${status}.`, { isRetryable: true });
  return status >= 400 ? readError(response, dateMs) : readSuccess(response, endpoint);
}

/** The status of an error is enough when its body cannot be read. */
function readError(response: HttpResponse, dateMs: number): AttemptResult {
  const { status, header, headers, body } = response;
  const received = withoutByteOrderMark(body.value ?? "");
  const text = isDecodedCorrectly(header, received) ? received : "";
  const retryAfterMs = parseRetryAfter(header("retry-after"), dateMs);
  return { value: { status, header, headers, text, json: parseJson(text), retryAfterMs } };
}

function readSuccess(response: HttpResponse, endpoint: EndpointId | "api"): AttemptResult {
  const { status, header, headers, body } = response;
  if (body.failure !== undefined) return body;
  const text = withoutByteOrderMark(body.value);
  const json = parseJson(text);
  const usable = { status, header, headers, text, json };
  if (json === undefined && isHtml(header, text))
    return unusable(status, "an HTML page. Is baseUrl the address of the service?", {
      isRetryable: true,
    });
  if (json === undefined && !isUsableWithoutJson(usable, endpoint))
    return unusable(status, "a body that is not JSON.", { isRetryable: true });
  if (!isDecodedCorrectly(header, text))
    return unusable(status, "a body whose charset is not UTF-8.");
  return { value: usable };
}

type Header = HttpResponse["header"];

const withoutByteOrderMark = (text: string) => (text.startsWith("\ufeff") ? text.slice(1) : text);

function isUsableWithoutJson(
  { status, header, text }: UsableResponse,
  endpoint: EndpointId | "api",
): boolean {
  if (endpoint === "api") return text === "" || !/json/i.test(header("content-type") ?? "json");
  // The specification does not show the response to setConsent (spec 4.5); readCard reports a 202.
  return endpoint === "setConsent" || status === 202;
}

/**
 * Whether the body is an HTML page, such as that of a login or a proxy. `OK` as text/plain is not.
 */
function isHtml(header: Header, text: string): boolean {
  const start = text.slice(0, 2_000).trimStart();
  if (start.startsWith("<") && /<(!doctype\s+html|html|head|body)\b/i.test(start)) return true;
  return text !== "" && /^\s*text\/html\b/i.test(header("content-type") ?? "");
}

/**
 * Whether the text is decoded correctly. Transports decode UTF-8, as JSON must be (RFC 8259, 8.1);
 * ASCII is the same in other charsets.
 */
function isDecodedCorrectly(header: Header, text: string): boolean {
  const charset =
    /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(header("content-type") ?? "")?.[1] ?? "utf-8";
  return /^(utf-?8|us-ascii)$/i.test(charset) || /^[\t\n\r\x20-\x7e]*$/.test(text);
}

/** Returns undefined for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads `Retry-After`, seconds or a date (RFC 9110, 10.2.3).
 * @returns milliseconds from now, 0 for a date in the past; undefined without a valid one.
 */
export function parseRetryAfter(header: string | null, dateMs: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  if (!/^[A-Z][a-z]{2,8},? /.test(value)) return undefined; // Date.parse reads other text too
  const atMs = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - dateMs);
}

/**
 * The service's identifier of the request. The specification does not name its header; these two
 * are common.
 */
export function getRequestId({ header }: Pick<UsableResponse, "header">): string | undefined {
  const id = header("x-request-id") ?? header("request-id");
  return id !== null && /^[\w.:/+=@-]{1,128}$/.test(id) ? id : undefined; // drops other text
}
