/** Reads the values of an OpenAPI document: own members, operations, the targets of references. */

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

const methods = ["get", "put", "post", "delete", "patch"];

/** The operations of the document: every method of every path. */
export const listOperations = (document: Json) =>
  Object.entries(recordIn(document, "paths")).flatMap(([path, item]) =>
    methods
      .filter((method) => isRecord(getMember(item, method)))
      .map((method) => ({ method, path, operation: recordIn(item, method) })),
  );

/** The target of a reference within the document, such as `#/components/schemas/Card`. */
export function resolvePointer(document: Json, reference: string): unknown {
  let target: unknown = document;
  for (const name of reference.split("/").slice(1)) target = getMember(target, name);
  if (!reference.startsWith("#/") || target === undefined)
    throw new Error(`The document refers to "${reference}", which it does not have.`);
  return target;
}

/** `Card` of `#/components/schemas/Card`. */
export const toSchemaName = (reference: string) => reference.slice(reference.lastIndexOf("/") + 1);

/** A parameter, response, request body or schema, with its reference resolved. */
export function resolved(document: Json, node: unknown): Json {
  const reference = getMember(node, "$ref");
  const target = typeof reference === "string" ? resolvePointer(document, reference) : node;
  return isRecord(target) ? target : {};
}
