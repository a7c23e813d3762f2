/** Reads a response: a body that a method can use, the body of an error, or why the attempt has no usable response. */
import { type AttemptFailure, type Call, type HttpResponse, toUnusable } from "./call.ts";
import { IssuingError, type IssuingErrorFacts } from "./errors.ts";

/** A response that a method or an error can use. */
export interface UsableResponse extends Omit<HttpResponse, "bodyFailure"> {
  /** The JSON of the body; undefined when it is not JSON. */
  body: unknown;
}

/** How an attempt ended: with a response, or without a usable one. */
export type AttemptResult = UsableResponse | AttemptFailure;

export const isResponse = (result: AttemptResult): result is UsableResponse => "text" in result;

/** What a method makes of the body of a success. */
export type Reading<Value> = { value: Value; differentFields?: string[] } | AttemptFailure;

/** Decides whether a response is usable: JSON, and for `client.api` an empty body or what the content type says. */
export function readResponse(response: HttpResponse, operation: Call["operation"]): AttemptResult {
  const { status, header, headers, bodyFailure } = response;
  if (status >= 300 && status < 400)
    return toUnusable(status, "a redirect, which is not followed. Is baseUrl the address of the service?");
  if (!(status >= 200 && status < 600)) return toUnusable(status, `the invalid status ${status}.`, true);
  const text = response.text.startsWith("\ufeff") ? response.text.slice(1) : response.text;
  // The status of an error is enough when its body cannot be read.
  if (status >= 400) {
    const errorText = isUtf8(response) ? text : "";
    return { status, header, headers, text: errorText, body: parseJson(errorText) };
  }
  if (bodyFailure !== undefined) return bodyFailure;
  const body = parseJson(text);
  if (body === undefined) {
    if (isHtml(response))
      return toUnusable(status, "an HTML page. Is baseUrl the address of the service?", true);
    // The specification does not show the response to setConsent (spec 4.5); readCard reports a 202.
    const isUsable =
      operation === "api"
        ? text === "" || !/json/i.test(header("content-type") ?? "json")
        : operation === "setConsent" || status === 202;
    if (!isUsable) return toUnusable(status, "a body that is not JSON.", true);
  }
  if (!isUtf8(response)) return toUnusable(status, "a body whose charset is not UTF-8.");
  return { status, header, headers, text, body };
}

/** Whether the body is an HTML page, such as that of a login or a proxy. `OK` as text/plain is not. */
function isHtml({ header, text }: HttpResponse): boolean {
  const start = text.slice(0, 2_000).trimStart();
  if (start.startsWith("<") && /<(!doctype\s+html|html|head|body)\b/i.test(start)) return true;
  return text !== "" && /^\s*text\/html\b/i.test(header("content-type") ?? "");
}

/** Whether the text is decoded correctly. Transports decode UTF-8, as JSON must be (RFC 8259, 8.1); ASCII is the same in other charsets. */
function isUtf8({ header, text }: HttpResponse): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(header("content-type") ?? "")?.[1] ?? "utf-8";
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

/** The service's identifier of the request. The specification does not name its header; these two are common. */
export function getRequestId({ header }: UsableResponse): string | undefined {
  const id = header("x-request-id") ?? header("request-id");
  return id !== null && /^[\w.:/+=@-]{1,128}$/.test(id) ? id : undefined; // drops other text
}

/** Creates the error of a call that ends without a usable response. */
export function toCallError(failure: AttemptFailure, facts: Omit<IssuingErrorFacts, "code">): IssuingError {
  const { code, message, retryable, status, networkCode, cardId } = failure;
  const cause = networkCode && Object.assign(new Error(networkCode), { code: networkCode });
  return new IssuingError(message, { ...facts, code, retryable, status, cardId, cause });
}
