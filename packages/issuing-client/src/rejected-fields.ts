/** Rejected fields: from the service's problem details or a schema's issues, and how messages name them. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isObject } from "./cards.ts";
import type { ProblemDetails, RejectedField, RejectedFieldReason } from "./errors.ts";

/** No form has more fields. */
const maxFields = 50;
const maxPointerLength = 300;
/** Long enough for a sentence, and too short for an error page. */
const maxTextLength = 1_000;
/** The maximum number of fields in a message. */
const maxPointers = 10;

/** @returns text of the service or of a schema that can be shown; undefined when it is blank, too long or not text. */
export const toShowable = (text: unknown): string | undefined =>
  typeof text === "string" && text.trim() !== "" && text.length <= maxTextLength ? text : undefined;

/**
 * Reads the `errors` member of problem details. Entries without a valid pointer are dropped.
 * @param sent the JSON of the request.
 */
export function readRejectedFields({ errors }: ProblemDetails, sent: string): RejectedField[] {
  if (!Array.isArray(errors)) return [];
  const request: unknown = JSON.parse(sent);
  return errors.slice(0, maxFields).flatMap((entry) => {
    const { pointer, detail, reason } = (entry ?? {}) as Record<string, unknown>;
    const decoded = typeof pointer === "string" ? decodeFragment(pointer) : undefined;
    return toField(decoded, detail, request, { stated: reason });
  });
}

/** Converts the issues of a schema to the form of the service's errors. */
export function toRejectedFields(
  issues: readonly StandardSchemaV1.Issue[],
  fieldValues: unknown,
): RejectedField[] {
  return issues.slice(0, maxFields).flatMap((issue) => {
    const { path, message, code, type } = issue as StandardSchemaV1.Issue & {
      code?: unknown;
      type?: unknown;
    };
    const keys = (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment));
    const segments = keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    return toField(`/fieldValues${segments.join("")}`, message, { fieldValues }, { rule: code ?? type });
  });
}

function toField(
  pointer: string | undefined,
  text: unknown,
  request: unknown,
  { stated, rule }: { stated?: unknown; rule?: unknown },
): RejectedField[] {
  if (pointer === undefined || pointer.length > maxPointerLength) return [];
  if (pointer !== "" && !pointer.startsWith("/")) return [];
  const detail = toShowable(text);
  const reason = reasons.find((each) => each === stated) ?? findReason(getValue(request, pointer), rule);
  return [{ pointer, ...(detail !== undefined && { detail }), reason }];
}

const reasons: readonly RejectedFieldReason[] = ["required", "format", "type", "too-long"];

/** How Zod and Valibot name the rule that a value breaks; Standard Schema has no member for it. */
const typeRules: readonly unknown[] = ["invalid_type", "string", "number"];
const lengthRules: readonly unknown[] = ["too_big", "max_length"];

/** The specification states no reason, so it is that of the value that was sent. @param rule that of a schema. */
function findReason(value: unknown, rule: unknown): RejectedFieldReason {
  const isText = typeof value === "string";
  if (value === undefined || value === null || (isText && value.trim() === "")) return "required";
  if (typeRules.includes(rule)) return "type";
  if (isText) return lengthRules.includes(rule) ? "too-long" : "format";
  return rule !== undefined || isObject(value) ? "format" : "type";
}

/** Returns the value at a JSON Pointer; undefined when there is none. */
function getValue(root: unknown, pointer: string): unknown {
  let value = root;
  for (const segment of pointer.split("/").slice(1)) {
    const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

/** A pointer can be a URI fragment, `#/customer/phone` (RFC 6901, section 6). */
function decodeFragment(pointer: string): string | undefined {
  if (!pointer.startsWith("#")) return pointer;
  try {
    return decodeURIComponent(pointer.slice(1));
  } catch {
    return undefined;
  }
}

/** Pointers that a message may contain: members of the contract, and field keys that look like names. Others can be personal data. */
const printable =
  /^\/(?:marketing|version|customer(?:\/(?:phone|email|name|consents(?:\/(?:privacy|marketing)(?:\/version)?)?))?|fieldValues(?:\/(?<key>[\p{L}_][\p{L}\p{N}_.-]{0,63}))?)$/u;

/**
 * Formats the pointers for a message, separated by commas; `""` when there are none.
 * @param sent the JSON of the request. A field key that equals a value in it is left out.
 */
export function formatFields(fields: readonly RejectedField[], sent: string): string {
  const pointers = new Set<string>();
  for (const { pointer } of fields) {
    const match = printable.exec(pointer);
    const key = match?.groups?.["key"];
    const isValue = key !== undefined && sent.includes(`:${JSON.stringify(key)}`);
    if (match !== null && !isValue && pointers.size < maxPointers) pointers.add(pointer);
  }
  return [...pointers].join(", ");
}
