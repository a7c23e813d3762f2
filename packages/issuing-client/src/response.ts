/**
 * Reads a response: whether its body is usable, then the card, the operations or the consent in it;
 * or why there is none.
 */
import type { Result } from "@loyalty-cards/internal/result";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type {
  ConsentState,
  FieldValues,
  Operation,
  Card as WireCard,
} from "@loyalty-cards/openapi/types";
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
 * @param nowMs the date, from which a `Retry-After` with a date is counted.
 */
export function readResponse(
  response: HttpResponse,
  operation: OperationId | "api",
  nowMs: number,
): AttemptResult {
  const { status } = response;
  if (isRedirect(status))
    return unusable(
      status,
      "a redirect, which is not followed. Is baseUrl (LOYALTY_URL) the address of the service?",
    );
  if (!(status >= 200 && status < 600))
    return unusable(status, `the invalid status ${status}.`, { isRetryable: true });
  return status >= 400 ? readError(response, nowMs) : readSuccess(response, operation);
}

/** The status of an error is enough when its body cannot be read. */
function readError(response: HttpResponse, nowMs: number): AttemptResult {
  const { status, header, headers, body } = response;
  const received = withoutByteOrderMark(body.value ?? "");
  const text = isDecodedCorrectly(header, received) ? received : "";
  const retryAfterMs = parseRetryAfter(header("retry-after"), nowMs);
  return { value: { status, header, headers, text, json: parseJson(text), retryAfterMs } };
}

function readSuccess(response: HttpResponse, operation: OperationId | "api"): AttemptResult {
  const { status, header, headers, body } = response;
  if (body.failure !== undefined) return body;
  const text = withoutByteOrderMark(body.value);
  const json = parseJson(text);
  const usable = { status, header, headers, text, json };
  if (json === undefined && isHtml(header, text))
    return unusable(status, "an HTML page. Is baseUrl (LOYALTY_URL) the address of the service?", {
      isRetryable: true,
    });
  if (json === undefined && !isUsableWithoutJson(usable, operation))
    return unusable(status, "a body that is not JSON.", { isRetryable: true });
  if (!isDecodedCorrectly(header, text))
    return unusable(status, "a body whose charset is not UTF-8.");
  return { value: usable };
}

type Header = HttpResponse["header"];

const withoutByteOrderMark = (text: string) => (text.startsWith("\ufeff") ? text.slice(1) : text);

function isUsableWithoutJson(
  { status, header, text }: UsableResponse,
  operation: OperationId | "api",
): boolean {
  if (operation === "api") return text === "" || !/json/i.test(header("content-type") ?? "json");
  // The specification does not show the response to setConsent (spec 4.5); readCard reports a 202.
  return operation === "setConsent" || status === 202;
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
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  if (!/^[A-Z][a-z]{2,8},? /.test(value)) return undefined; // Date.parse reads other text too
  const atMs = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/**
 * The service's identifier of the request. The specification does not name its header; these two
 * are common.
 */
export function getRequestId({ header }: Pick<UsableResponse, "header">): string | undefined {
  const id = header("x-request-id") ?? header("request-id");
  return id !== null && /^[\w.:/+=@-]{1,128}$/.test(id) ? id : undefined; // drops other text
}

export type { ConsentState, Operation } from "@loyalty-cards/openapi/types";

/**
 * A card ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)).
 * Members that this version does not know are present at run time; read one with `"name" in card`.
 * @typeParam Fields the fields of the card's template, as `defineTemplate` has them.
 */
export interface Card<Fields = FieldValues> extends Omit<WireCard, "fieldValues"> {
  /**
   * Map from a field key of the template to its value ([spec
   * 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)).
   */
  fieldValues: Fields;
}

const isString = (value: unknown): value is string => typeof value === "string";

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const httpStart = /^https?:\/\/[^\s/?#]/i;

/** Accepts only http and https, because users open the page and its links. */
function isHttpUrl(value: unknown): boolean {
  try {
    return isString(value) && httpStart.test(value) && new URL(value).host !== "";
  } catch {
    return false; // such as https://host:undefined/
  }
}

const isOptional = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isValid(value);

/**
 * The members of a card (spec 2.1). A value of another type is an error: the program would
 * calculate with it, and `"120" + 1` is `"1201"`.
 */
const isValidMember: Record<keyof Card, (value: unknown) => boolean> = {
  id: (value) => isString(value) && value !== "",
  publicUrl: isHttpUrl,
  status: isOptional(isString),
  customerId: isOptional(isString),
  loyaltyBalance: isOptional(Number.isFinite), // 1e999 is JSON, and becomes Infinity
  loyaltyTier: (value) => value === null || isOptional(isString)(value),
  issuedVia: isOptional(isString),
  fieldValues: isOptional(isObject),
};

const memberNames = Object.keys(isValidMember) as (keyof Card)[];

/**
 * Reads a card. An object that has an id and no `publicUrl` is not one: it can be a wrapper, or a
 * job that issues the card later.
 */
export function readCard<Fields>({ json, status }: UsableResponse): Reading<Card<Fields>> {
  const members = isObject(json) ? json : {};
  const invalid = memberNames.filter((name) => !isValidMember[name](members[name]));
  if (invalid.length === 0) return { value: members as typeof members & Card<Fields> };

  const { id, publicUrl, public_url, loyaltyBalance } = members;
  // What has a page is a card, also when the address is wrong.
  const hasPage = [publicUrl, public_url].some((url) => isString(url) && httpStart.test(url));
  if (status === 202 && !hasPage) {
    const what = "202: the card is issued later. Repeat the call with the same key.";
    return unusable(status, what, { isRetryable: true });
  }
  const isCard = hasPage || Number.isFinite(loyaltyBalance);
  const hasId = (isString(id) && id !== "") || Number.isSafeInteger(id);
  const cardId = isCard && hasId ? String(id) : undefined;
  return mismatch(status, `a card: ${describeDifference(members, invalid)}`, cardId);
}

const mismatch = (status: number, expected: string, cardId?: string) =>
  unusable(status, `something that is not ${expected}.`, { cardId });

function describeDifference(members: Record<string, unknown>, invalid: readonly string[]): string {
  const { publicUrl, public_url } = members;
  if (isString(public_url) && publicUrl === undefined)
    return "its members are in snake_case, such as public_url instead of publicUrl";
  if (Object.values(members).some(isCardLike)) return "the card is inside another object";
  return `missing or invalid: ${invalid.map((name) => `/${name}`).join(", ")}`;
}

const isCardLike = (value: unknown) =>
  isObject(value) &&
  isString(value["id"]) &&
  (isString(value["publicUrl"]) || isString(value["public_url"]));

/**
 * The specification does not show the member that contains the list (spec 4.3); these names are
 * common.
 */
const listNames = ["items", "operations", "data", "results"];

/**
 * Members that the specification does not name, with their types. A value of another type is
 * removed.
 */
const optionalMembers = { change: Number.isFinite, balance: Number.isFinite, createdAt: isString };

/** Reads the history of a card. */
export function readOperations({ json, status }: UsableResponse): Reading<Operation[]> {
  const lists = isObject(json) ? listNames.map((name) => json[name]) : [json];
  const list = lists.find(Array.isArray);
  if (!list?.every(isOperation)) return mismatch(status, "a list of operations");
  for (const entry of list as Record<string, unknown>[]) {
    entry["id"] = String(entry["id"]); // the specification gives it no type (spec 2.5)
    for (const [name, isValid] of Object.entries(optionalMembers))
      if (!isValid(entry[name])) delete entry[name];
  }
  return { value: list as Operation[] };
}

const isOperation = (entry: unknown) =>
  isObject(entry) &&
  (isString(entry["id"]) || Number.isSafeInteger(entry["id"])) &&
  isOptional(isString)(entry["type"]);

/** Reads a consent. The text "false" for `marketingConsent` would count as consent in an `if`. */
export function readConsent({ json, status }: UsableResponse): Reading<ConsentState> {
  if (isObject(json) && typeof json["marketingConsent"] === "boolean")
    return { value: json as unknown as ConsentState };
  return mismatch(status, "a consent: marketingConsent is not true or false");
}

/**
 * Reads the response to a change of consent, which is not specified (spec 4.5): it may have no
 * consent.
 */
export function readChangedConsent(response: UsableResponse): Reading<ConsentState | undefined> {
  return { value: readConsent(response).value };
}
