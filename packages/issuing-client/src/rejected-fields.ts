/** Rejected fields: from the service's problem details, and how messages name them. */
import type { ProblemDetails, RejectedField } from "./errors.ts";

/** No form has more fields. */
const maxFields = 50;
const maxPointerLength = 300;
/** Long enough for a sentence, and too short for an error page. */
const maxTextLength = 1_000;
/** The maximum number of fields in a message. */
const maxPointers = 10;

/** @returns text of the service that can be shown; undefined when it is blank, too long or not text. */
export const toShowable = (text: unknown): string | undefined =>
  typeof text === "string" && text.trim() !== "" && text.length <= maxTextLength ? text : undefined;

/** Reads the `errors` member of problem details. Entries without a valid pointer are dropped. */
export function readRejectedFields({ errors }: ProblemDetails): RejectedField[] {
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, maxFields).flatMap((entry) => {
    const pointer = parsePointer(entry?.pointer);
    const detail = toShowable(entry?.detail);
    if (pointer === undefined) return [];
    return [detail === undefined ? { pointer } : { pointer, detail }];
  });
}

/** @returns undefined for a value that is not a pointer. It can be a URI fragment, `#/customer/phone` (RFC 6901, section 6). */
function parsePointer(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const pointer = value.startsWith("#") ? decodeFragment(value.slice(1)) : value;
  if (pointer === undefined || pointer.length > maxPointerLength) return undefined;
  return pointer === "" || pointer.startsWith("/") ? pointer : undefined;
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
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
