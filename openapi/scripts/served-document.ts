/** Reads the OpenAPI document of a service: fetches it, resolves its references, and converts its schemas to version 3.1. */

export type Json = Readonly<Record<string, unknown>>;
export type Schema = Json;

/** The document cannot be read, or is not a document of this service. Nothing has been compared or written. */
export class UnusableDocumentError extends Error {
  override readonly name = "UnusableDocumentError";
}

/**
 * Fetches the OpenAPI document below the base URL of a service (spec 4.6).
 *
 * @param baseUrl the `baseUrl` of the client, without `/api/v1`
 * @throws {UnusableDocumentError} when the service does not respond within 10 seconds with a 2xx status and a JSON object
 */
export async function fetchDocument(baseUrl: string, fetch = globalThis.fetch): Promise<Json> {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new UnusableDocumentError("--from takes the base URL of a service, https://…; this is not a URL.");
  }
  if (new URL(baseUrl).username !== "" || new URL(baseUrl).password !== "") {
    throw new UnusableDocumentError("The base URL contains a user name or a password: remove it.");
  }
  const address = `${baseUrl.replace(/\/+$/, "")}/api/docs/json`;
  const response = await fetch(address, { signal: AbortSignal.timeout(10_000) }).catch((cause: Error) => {
    throw new UnusableDocumentError(`${address} does not respond: ${getMessage(cause)}.`, { cause });
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new UnusableDocumentError(
      `${address} responded ${response.status}. Pass the baseUrl of the client, without /api/v1.`,
    );
  }
  const document: unknown = await response.json().catch(() => undefined);
  if (!isRecord(document)) throw new UnusableDocumentError(`${address} is not an OpenAPI 3 document.`);
  return document;
}

const getMessage = (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message);

export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own property of an object; undefined when the value is not an object. */
export const getProperty = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** An own property that is an object; otherwise an empty object. */
export const recordIn = (value: unknown, name: string): Json => {
  const property = getProperty(value, name);
  return isRecord(property) ? property : {};
};

/** The target of a reference within the document. */
export function resolvePointer(document: Json, reference: string): unknown {
  if (!reference.startsWith("#/")) {
    throw new UnusableDocumentError(
      `The document refers to ${JSON.stringify(reference)}. Only references within the document are supported.`,
    );
  }
  const target = reference
    .slice(2)
    .split("/")
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, step) => (Array.isArray(at) ? at[Number(step)] : getProperty(at, step)), document);
  if (target === undefined) {
    throw new UnusableDocumentError(
      `The document refers to ${JSON.stringify(reference)}, which it does not have.`,
    );
  }
  return target;
}

/** A parameter, response, request body or path item, with its reference resolved. */
export function resolved(document: Json, node: unknown, depth = 0): Json {
  if (!isRecord(node)) return {};
  if (typeof node["$ref"] !== "string") return node;
  if (depth > 20) throw new UnusableDocumentError(`The reference ${node["$ref"]} leads to itself.`);
  return resolved(document, resolvePointer(document, node["$ref"]), depth + 1);
}

/** The reference of a schema that is only a reference: directly, as the only schema of `allOf`, or as an alternative to `null`. */
export function getReference(schema: unknown): string | undefined {
  if (typeof getProperty(schema, "$ref") === "string") return getProperty(schema, "$ref") as string;
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((name) => getProperty(schema, name) ?? []);
  const [only, ...others] = parts.filter((part) => getProperty(part, "type") !== "null");
  return others.length === 0 && only !== undefined ? getReference(only) : undefined;
}

/**
 * One level of a schema in the form of version 3.1: references resolved, `allOf` joined, `nullable` and alternatives of
 * plain types written as `type: [...]`. References in properties are kept.
 */
export function flattened(document: Json, schema: unknown, seen: readonly string[] = []): Schema {
  if (!isRecord(schema)) return {};
  const { $ref: reference, allOf, anyOf, oneOf, nullable, ...rest } = schema;
  let flat: Schema = rest;
  if (typeof reference === "string") {
    if (seen.includes(reference))
      throw new UnusableDocumentError(`The reference ${reference} leads to itself.`);
    flat = joined(flattened(document, resolvePointer(document, reference), [...seen, reference]), flat);
  }
  if (Array.isArray(allOf)) {
    for (const part of allOf) flat = joined(flattened(document, part, seen), flat);
  }
  let mayBeNull = nullable === true;
  for (const [keyword, alternatives] of Object.entries({ anyOf, oneOf })) {
    if (!Array.isArray(alternatives)) continue;
    const all = alternatives.map((part) => flattened(document, part, seen));
    const others = all.filter(({ type }) => type !== "null");
    if (others.length < all.length) mayBeNull = true;
    if (others.length === 1) flat = joined(others[0] ?? {}, flat);
    else if (others.every(isPlainType)) flat = { ...flat, type: others.flatMap(({ type }) => type) };
    else flat = { ...flat, [keyword]: alternatives };
  }
  if (mayBeNull) flat = withNull(flat);
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof flat[exclusive] !== "boolean") continue; // as in version 3.0
    const { [exclusive]: isExclusive, [limit]: value, ...others } = flat;
    flat = value === undefined ? others : { ...others, [isExclusive ? exclusive : limit]: value };
  }
  return flat;
}

const isPlainType = (schema: Schema) =>
  schema["type"] !== undefined && Object.keys(schema).every((key) => key === "type" || isDocumentation(key));

function withNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [...new Set([type, "null"].flat())] }),
    ...(Array.isArray(values) ? { enum: [...new Set([...values, null])] } : {}),
  };
}

function joined(first: Schema, second: Schema): Schema {
  const required = [first["required"] ?? [], second["required"] ?? []].flat();
  const properties = { ...recordIn(first, "properties"), ...recordIn(second, "properties") };
  return {
    ...first,
    ...second,
    ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
  };
}

/** Keywords that document a schema. The contract keeps its own; differences in them are not reported. */
export const isDocumentation = (key: string): boolean =>
  key.startsWith("x-") ||
  [
    "title",
    "description",
    "example",
    "examples",
    "default",
    "deprecated",
    "externalDocs",
    "xml",
    "$comment",
  ].includes(key) ||
  ["readOnly", "writeOnly", "discriminator"].includes(key);
