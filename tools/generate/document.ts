/** The values of an OpenAPI document: own members, the targets of references, and texts for messages. */

export type Json = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own member of an object; undefined when the value is not an object. */
export const getMember = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** An own member that is an object; otherwise an empty object. */
export function recordIn(value: unknown, name: string): Json {
  const member = getMember(value, name);
  return isRecord(member) ? member : {};
}

/** An own member that is a list; otherwise an empty list. */
export function listIn(value: unknown, name: string): readonly unknown[] {
  const member = getMember(value, name);
  return Array.isArray(member) ? member : [];
}

export const mapMembers = (value: unknown, change: (name: string, member: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(value as Json).map(([name, member]) => [name, change(name, member)]));

/** The reference of a parameter, response or schema. */
export function getReference(node: unknown): string | undefined {
  const reference = getMember(node, "$ref");
  return typeof reference === "string" ? reference : undefined;
}

/** The target of a reference within the document. */
export function resolvePointer(document: Json, reference: string): unknown {
  const toName = (step: string) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  const [, ...names] = reference.split("/").map(toName);
  let target: unknown = document;
  for (const name of names) target = Array.isArray(target) ? target[Number(name)] : getMember(target, name);
  if (!reference.startsWith("#/") || target === undefined)
    throw new Error(`The document refers to "${printable(reference)}", which it does not have.`);
  return target;
}

/** A parameter, response, request body or path item, with its reference resolved. */
export function resolved(document: Json, node: unknown): Json {
  const reference = getReference(node);
  const target = reference === undefined ? node : resolvePointer(document, reference);
  if (getReference(target) !== undefined)
    throw new Error(`The reference "${printable(String(reference))}" leads to another reference.`);
  return isRecord(target) ? target : {};
}

/** A text of a document for a message: control characters are escaped, and it has at most about 200 characters. */
export const printable = (text: string): string =>
  (text.length > 200 ? `${text.slice(0, 200)}…` : text).replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
