/** Reads the schemas of OpenAPI 3.0 and 3.1 in one form: references resolved, `allOf` joined, `nullable` written as a type. */
import {
  getProperty,
  isRecord,
  type Json,
  listIn,
  mapProperties,
  quoted,
  recordIn,
  resolved,
  resolvePointer,
  UnusableDocumentError,
} from "./document.ts";
import type { Work } from "./work.ts";

export type Schema = Json;

export const lowerLimits = ["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties"];
export const upperLimits = ["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties"];
export const otherLimits = ["pattern", "multipleOf"];
/** Constraints that the contract does not use. They are not analyzed: each one counts as a tightened limit. */
export const otherConstraints = [
  ...["uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "unevaluatedItems"],
  ...["propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies"],
  ...["if", "then", "else", "contentEncoding", "contentMediaType"],
];

/** A document and the work of reading it. */
export class ApiDocument {
  readonly root: Json;
  readonly #work: Work;

  constructor(root: Json, work: Work) {
    this.root = root;
    this.#work = work;
  }

  /** A parameter, response, request body or path item, with its reference resolved. */
  resolved(node: unknown): Json {
    this.#work.spend(1);
    return resolved(this.root, node);
  }

  /**
   * One level of a schema in the form of version 3.1: references resolved, `allOf` joined, `nullable` and alternatives of
   * plain types written as `type: [...]`. References in properties are kept.
   */
  flattened(schema: unknown, seen: readonly string[] = []): Schema {
    if (!isRecord(schema)) return {};
    this.#work.spend(Object.keys(schema).length);
    return this.#work.nested(() => this.#flattened(schema, seen));
  }

  #flattened(schema: Schema, seen: readonly string[]): Schema {
    const { $ref: reference, allOf, anyOf, oneOf, nullable, ...rest } = schema;
    let flat = withNumericLimits(rest);
    if (typeof reference === "string") {
      if (seen.includes(reference))
        throw new UnusableDocumentError(`The reference ${quoted(reference)} leads to itself.`);
      const target = resolvePointer(this.root, reference);
      flat = this.#joined(this.flattened(target, [...seen, reference]), flat);
    }
    if (Array.isArray(allOf)) {
      for (const part of allOf) flat = this.#joined(this.flattened(part, seen), flat);
    }
    let mayBeNull = nullable === true;
    for (const [keyword, alternatives] of Object.entries({ anyOf, oneOf })) {
      if (!Array.isArray(alternatives)) continue;
      const all = alternatives.map((part) => this.flattened(part, seen));
      const others = all.filter(({ type }) => type !== "null");
      if (others.length < all.length) mayBeNull = true;
      if (others.length === 1) flat = this.#joined(others[0] ?? {}, flat);
      else if (others.every(isPlainType)) flat = { ...flat, type: others.flatMap(({ type }) => type) };
      else flat = { ...flat, [keyword]: [...listIn(flat, keyword), ...alternatives] };
    }
    return mayBeNull ? withNull(flat) : flat;
  }

  /** A schema that accepts what both accept. */
  #joined(first: Schema, second: Schema): Schema {
    this.#work.spend(Object.keys(recordIn(first, "properties")).length);
    this.#work.spend(Object.keys(recordIn(second, "properties")).length);
    const joined: Record<string, unknown> = { ...first, ...second };
    for (const [keyword, value] of Object.entries(first)) {
      if (Object.hasOwn(second, keyword)) joined[keyword] = joinedValue(keyword, value, second[keyword]);
    }
    return joined;
  }

  /** A schema with resolved references and without documentation, for a comparison. A recursive reference becomes its depth. */
  meaning(schema: unknown, seen: readonly string[] = []): unknown {
    return this.#work.nested(() => this.#meaning(schema, seen));
  }

  #meaning(schema: unknown, seen: readonly string[]): unknown {
    const reference = getReference(schema);
    if (reference !== undefined && seen.includes(reference)) return seen.length - seen.indexOf(reference);
    const next = reference === undefined ? seen : [...seen, reference];
    const keywords = Object.entries(this.flattened(schema)).filter(
      ([key, value]) =>
        comparedKeywords.includes(key) && !(key === "additionalProperties" && typeof value === "boolean"),
    );
    return Object.fromEntries(
      keywords.map(([key, value]) => {
        if (key === "properties" && isRecord(value))
          return [key, mapProperties(value, (property) => this.meaning(property, next))];
        if (["anyOf", "oneOf"].includes(key) && Array.isArray(value))
          return ["alternatives", value.map((part) => this.meaning(part, next))];
        if (["items", "not", "additionalProperties"].includes(key)) return [key, this.meaning(value, next)];
        if (["required", "type", "enum"].includes(key)) return [key, [value].flat().map(String).sort()];
        return [key, value];
      }),
    );
  }
}

const comparedKeywords = [
  ...["type", "required", "enum", "const", "format", "properties", "items", "additionalProperties"],
  ...[...lowerLimits, ...upperLimits, ...otherLimits],
  ...["not", "anyOf", "oneOf"],
];

function joinedValue(keyword: string, first: unknown, second: unknown): unknown {
  if (keyword === "properties" && isRecord(first) && isRecord(second)) {
    const shared = Object.keys(first).filter((name) => Object.hasOwn(second, name));
    const both = shared.map((name) => [name, { allOf: [first[name], second[name]] }]);
    return { ...first, ...second, ...Object.fromEntries(both) };
  }
  if (keyword === "required" || keyword === "anyOf" || keyword === "oneOf")
    return [...new Set([first, second].flat())];
  if (keyword === "type" || keyword === "enum") {
    const accepted = new Set([second].flat());
    const both = [first].flat().filter((value) => accepted.has(value));
    if (both.length === 0) return second;
    return keyword === "type" && both.length === 1 ? both[0] : both;
  }
  if (typeof first === "number" && typeof second === "number") {
    if (lowerLimits.includes(keyword)) return Math.max(first, second);
    if (upperLimits.includes(keyword)) return Math.min(first, second);
  }
  return second;
}

/** Converts the exclusive limits of version 3.0, which are booleans. */
export function withNumericLimits(schema: Schema): Schema {
  let numeric = schema;
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof numeric[exclusive] !== "boolean") continue;
    const { [exclusive]: isExclusive, [limit]: value, ...others } = numeric;
    numeric = value === undefined ? others : { ...others, [isExclusive ? exclusive : limit]: value };
  }
  return numeric;
}

const isPlainType = (schema: Schema) =>
  schema["type"] !== undefined && Object.keys(schema).every((key) => key === "type" || isDocumentation(key));

/** Adds null to the accepted values, as OpenAPI 3.1 writes it. */
export function withNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [...new Set([type, "null"].flat())] }),
    ...(Array.isArray(values) ? { enum: [...new Set([...values, null])] } : {}),
  };
}

/** The reference of a schema that is only a reference: directly, as the only schema of `allOf`, or as an alternative to `null`. */
export function getReference(schema: unknown): string | undefined {
  if (typeof getProperty(schema, "$ref") === "string") return getProperty(schema, "$ref") as string;
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((name) => listIn(schema, name));
  const [only, ...others] = parts.filter((part) => getProperty(part, "type") !== "null");
  return others.length === 0 && only !== undefined ? getReference(only) : undefined;
}

export function getTypes(schema: Schema): string[] | undefined {
  const { type } = schema;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) {
    const types = type.filter((name) => typeof name === "string");
    return types.includes("number") ? types.filter((name) => name !== "integer") : types;
  }
  if (schema["properties"] !== undefined) return ["object"];
  if (schema["items"] !== undefined) return ["array"];
  const types = getValues(schema)?.map((value) => (value === null ? "null" : typeof value));
  return types === undefined ? undefined : [...new Set(types)];
}

export function getValues(schema: Schema): unknown[] | undefined {
  if (schema["const"] !== undefined) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
}

export const isComposed = (schema: Schema): boolean =>
  ["anyOf", "oneOf", "not"].some((keyword) => schema[keyword] !== undefined);

/** Keywords that document a schema. The contract keeps its own; differences in them are not reported. */
export const isDocumentation = (key: string): boolean => key.startsWith("x-") || documentation.includes(key);

const documentation = [
  ...["title", "description", "example", "examples", "default", "deprecated", "externalDocs", "xml"],
  ...["$comment", "readOnly", "writeOnly", "discriminator"],
];
