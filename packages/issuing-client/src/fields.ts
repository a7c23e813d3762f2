/** Rejected fields: read from the problem details of the service or from the issues of a schema, and named in messages. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ProblemDetails } from "./problem.ts";

/** A member of the request that is missing or not valid. */
export interface RejectedField {
  /** JSON Pointer (RFC 6901) into the request body: `/customer/phone`, `/fieldValues/name`. */
  pointer: string;
  /** What is wrong, by the service or by the schema. It may quote what the user typed: show it to them, and do not log it. */
  detail?: string;
}

/** A form has fewer fields; a longer list is an error page or an attack. */
const maxFields = 50;
const maxPointerLength = 300;
/** Long enough for a sentence per field, too short for an error page that calls itself a detail. */
const maxTextLength = 1_000;
/** As many as a line of a log can show. */
const maxNamed = 10;

/** A text of the service or of a schema that may be shown; undefined when it is blank, too long or no text. */
export const toShowable = (text: unknown): string | undefined =>
  typeof text === "string" && text.trim() !== "" && text.length <= maxTextLength ? text : undefined;

/** Reads the `errors` member of problem details. An entry without a usable pointer is left out. */
export function readRejectedFields({ errors }: ProblemDetails): RejectedField[] {
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, maxFields).flatMap((entry) => {
    const { pointer, detail } = (entry ?? {}) as { pointer?: unknown; detail?: unknown };
    return toField(typeof pointer === "string" ? withoutFragment(pointer) : undefined, detail);
  });
}

/** The issues of a schema of the field values, in the form in which the service reports them. */
export function toRejectedFields(issues: readonly StandardSchemaV1.Issue[]): RejectedField[] {
  return issues.slice(0, maxFields).flatMap(({ path, message }) => {
    const keys = (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment));
    const segments = keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    return toField(`/fieldValues${segments.join("")}`, message);
  });
}

function toField(pointer: string | undefined, text: unknown): RejectedField[] {
  if (pointer === undefined || pointer.length > maxPointerLength) return [];
  if (pointer !== "" && !pointer.startsWith("/")) return [];
  const detail = toShowable(text);
  return [detail === undefined ? { pointer } : { pointer, detail }];
}

/** RFC 6901 has a second form, a URI fragment, which the example of RFC 9457 uses: `#/customer/phone`. */
function withoutFragment(pointer: string): string | undefined {
  if (!pointer.startsWith("#")) return pointer;
  try {
    return decodeURIComponent(pointer.slice(1));
  } catch {
    return undefined;
  }
}

/** Places of the contract, and field keys that read like names. Anything else could be a value, and messages get into logs. */
const namable =
  /^\/(?:marketing|version|customer(?:\/(?:phone|email|name|consents(?:\/(?:privacy|marketing)(?:\/version)?)?))?|fieldValues(?:\/(?<key>[\p{L}_][\p{L}\p{N}_.-]{0,63}))?)$/u;

/**
 * The pointers that a message may have, joined by commas; `""` when there are none.
 * @param sent the JSON of the request: a field key that equals a value in it is left out.
 */
export function nameFields(fields: readonly RejectedField[], sent: string): string {
  const pointers = new Set<string>();
  for (const { pointer } of fields) {
    const match = namable.exec(pointer);
    const key = match?.groups?.["key"];
    const isValue = key !== undefined && sent.includes(`:${JSON.stringify(key)}`);
    if (match !== null && !isValue && pointers.size < maxNamed) pointers.add(pointer);
  }
  return [...pointers].join(", ");
}
