/** Compares the schemas of a served document with the contract, and creates the updated schemas under the names of the contract. */
import { isDeepStrictEqual } from "node:util";
import type { DriftRule, Place, Report } from "./drift-rules.ts";
import {
  flattened,
  getProperty,
  getReference,
  isDocumentation,
  isRecord,
  type Json,
  recordIn,
  resolvePointer,
  type Schema,
} from "./served-document.ts";

type Section = "schemas" | "parameters" | "responses";

/** Prefix of a reference into the served document, until `adoptReferences` replaces it with a name in the contract. */
const servedMark = "served:";

/** The client accepts the list of operations as an array, or in one of these properties. */
const listWrappers = ["items", "operations", "data", "results"];

const lowerLimits = ["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties"];
const upperLimits = ["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties"];
const otherLimits = ["pattern", "multipleOf"];
/** Formats that define the storage of a number, which JSON does not show. */
const numberFormats = ["int32", "int64", "float", "double"];

export class SchemaComparison {
  readonly notes = new Set<string>();
  readonly #contract: Json;
  readonly #served: Json;
  readonly #report: Report;
  /** The compared components of the contract, as the service describes them, by section and name. */
  readonly #components = new Map<string, Json>();
  /** The name in the contract of a reference into the served document. */
  readonly #names = new Map<string, string>();
  readonly #comparing = new Set<string>();

  constructor(contract: Json, served: Json, report: Report) {
    this.#contract = contract;
    this.#served = served;
    this.#report = report;
  }

  /**
   * The schema of the contract, changed only where the service differs. Parts that the service does not describe (limits,
   * known values, properties of an object without `properties`) are unchanged.
   */
  schema(own: Schema, served: unknown, place: Place): Schema {
    const said = flattened(this.#served, served);
    const saysNothing = Object.keys(said).every(isDocumentation);
    if (saysNothing) {
      // The two agree when the contract also allows any value.
      if (getTypes(flattened(this.#contract, own)) !== undefined) {
        this.notes.add(`${place.path} has no type in the served document; the contract keeps its own.`);
      }
      return own;
    }
    const [reference, servedReference] = [getReference(own), getReference(served)];
    if (reference === undefined) return this.#inline(own, served, said, place);
    // A schema that contains itself is compared once.
    const pair = `${reference} ${servedReference}`;
    if (this.#comparing.has(pair)) return own;
    if (servedReference !== undefined) this.#comparing.add(pair);
    const result = this.component("schemas", own, place, (component, path) =>
      this.#inline(this.#asWrapped(nameIn(reference), component, said), served, said, { ...place, path }),
    );
    this.#comparing.delete(pair);
    if (servedReference !== undefined && !this.#names.has(servedReference)) {
      this.#names.set(servedReference, nameIn(String(result["$ref"] ?? reference)));
    }
    return result;
  }

  /**
   * Compares the component of a reference of the contract, and keeps the reference. When two operations share a component
   * that the service describes differently, the second gets its own component.
   */
  component(
    section: Section,
    own: Json,
    place: Place,
    compare: (component: Json, path: string) => Json,
  ): Json {
    if (typeof own["$ref"] !== "string") return compare(own, place.path);
    const name = nameIn(own["$ref"]);
    const components = recordIn(recordIn(this.#contract, "components"), section);
    const next = compare(components[name] as Json, name);
    const known = this.#components.get(`${section}/${name}`);
    if (known === undefined) this.#components.set(`${section}/${name}`, next);
    if (known === undefined || isDeepStrictEqual(known, next)) return own;
    const prefix = place.operation.replace(/(?:^|\W+)(\w)/g, (_, letter: string) => letter.toUpperCase());
    for (let number = 1; ; number++) {
      const ownName = `${prefix}${name}${number === 1 ? "" : number}`;
      const taken = this.#components.get(`${section}/${ownName}`);
      if (isDeepStrictEqual(taken, next) || (taken === undefined && components[ownName] === undefined)) {
        this.#components.set(`${section}/${ownName}`, next);
        return { ...own, $ref: `#/components/${section}/${ownName}` };
      }
    }
  }

  /** The contract with the compared components, and with the components of the service that new properties refer to. */
  adoptReferences(contract: Json): Json {
    const components: Record<string, Json> = {
      ...(recordIn(contract, "components") as Record<string, Json>),
    };
    const add = (section: string, name: string, component: Json) => {
      components[section] = { ...components[section], [name]: component };
    };
    for (const [key, component] of this.#components) {
      const [section = "", name = ""] = key.split("/");
      add(section, name, component);
    }
    const queue: string[] = [];
    const named = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(named);
      if (!isRecord(value)) return value;
      const reference = value["$ref"];
      if (typeof reference !== "string" || !reference.startsWith(servedMark)) {
        return mapProperties(value, named);
      }
      const pointer = reference.slice(servedMark.length);
      if (!this.#names.has(pointer)) {
        const name = nameIn(pointer).replace(/\W/g, "") || "Schema";
        const isFree = (candidate: string) =>
          components["schemas"]?.[candidate] === undefined && ![...this.#names.values()].includes(candidate);
        const candidates = [
          name,
          ...Array.from({ length: 1000 }, (_, index) => `Service${name}${index || ""}`),
        ];
        this.#names.set(pointer, candidates.find(isFree) ?? name);
        queue.push(pointer);
      }
      return { ...mapProperties(value, named), $ref: `#/components/schemas/${this.#names.get(pointer)}` };
    };
    const { components: _, ...rest } = contract;
    const others = named(rest) as Json;
    let adopted = named(components) as Record<string, Json>;
    for (let pointer = queue.shift(); pointer !== undefined; pointer = queue.shift()) {
      const component = named(adoptedSchema(resolvePointer(this.#served, pointer))) as Json;
      const name = this.#names.get(pointer) ?? "";
      adopted = { ...adopted, schemas: { ...adopted["schemas"], [name]: component } };
    }
    return { ...contract, ...others, components: adopted };
  }

  #inline(own: Schema, served: unknown, said: Schema, place: Place): Schema {
    const flat = flattened(this.#contract, own);
    const [ownTypes, saidTypes] = [getTypes(flat), getTypes(said)];
    if (isComposed(flat) || isComposed(said)) {
      const [before, after] = [meaning(this.#contract, flat), meaning(this.#served, said)];
      if (isDeepStrictEqual(before, after)) return own;
      this.#report("composition-changed", place, "the alternatives of anyOf, oneOf or not differ");
      return replaced(own, served);
    }
    if (ownTypes === undefined && saidTypes !== undefined) {
      this.#report("type-narrowed", place, `the type is now ${saidTypes.join(" or ")}`);
      return replaced(own, served);
    }
    const changes: Record<string, unknown> = {};
    if (ownTypes !== undefined && saidTypes !== undefined) {
      const isNarrower = saidTypes.every((type) => accepts(ownTypes, type));
      const isWider = ownTypes.every((type) => accepts(saidTypes, type));
      if (!(isNarrower && isWider)) {
        const rule = isNarrower ? "type-narrowed" : isWider ? "type-widened" : "type-changed";
        this.#report(
          rule,
          place,
          `the type changes from ${ownTypes.join(" or ")} to ${saidTypes.join(" or ")}`,
        );
        if (!ownTypes.some((type) => type !== "null" && accepts(saidTypes, type)) && !isNarrower) {
          return replaced(own, served);
        }
        changes["type"] = saidTypes.length === 1 ? saidTypes[0] : saidTypes;
        if (!saidTypes.includes("string")) changes["x-extensible-enum"] = undefined;
      }
    }
    Object.assign(changes, this.#values(own, flat, said, place), this.#limits(flat, said, place));
    Object.assign(changes, this.#properties(flat, said, place));
    for (const keyword of ["items", "additionalProperties"]) {
      const [before, after] = [getProperty(flat, keyword), getProperty(said, keyword)];
      if (!isRecord(after)) continue;
      if (!isRecord(before)) {
        if (keyword === "items") changes[keyword] = adoptedSchema(after);
        continue;
      }
      const path = `${place.path}${keyword === "items" ? "[]" : ".*"}`;
      const next = this.schema(before, after, { ...place, path });
      if (next !== before) changes[keyword] = next;
    }
    if (Object.keys(changes).length === 0) return own;
    const base = own["$ref"] === undefined && !isComposed(own) && own["allOf"] === undefined ? own : flat;
    return withoutUndefined({ ...base, ...changes });
  }

  #values(own: Schema, flat: Schema, said: Schema, place: Place): Json {
    const after = getValues(said) ?? getProperty(said, "x-extensible-enum");
    const open = own["x-extensible-enum"];
    if (Array.isArray(open)) {
      const known = Array.isArray(after) ? after.filter((value) => typeof value === "string") : [];
      if (known.length === 0 || sameValues(open, known)) return {};
      this.#report("known-values-changed", place, `the known values are now ${listed(known)}`);
      return { "x-extensible-enum": known };
    }
    const before = getValues(flat);
    const isClosed = getValues(said) !== undefined;
    if (!isClosed && (before === undefined || flat["const"] !== undefined)) return {};
    if (!isClosed) {
      this.#report("values-added", place, `any value is possible, not only ${listed(before ?? [])}`);
      return { enum: undefined };
    }
    const allowed = after as unknown[];
    if (before === undefined) {
      this.#report("values-removed", place, `only ${listed(allowed)} are possible`);
      return { enum: allowed };
    }
    const added = allowed.filter((value) => !includes(before, value));
    const removed = before.filter((value) => !includes(allowed, value));
    if (added.length > 0)
      this.#report("values-added", place, `${listed(added)} added to the possible values`);
    if (removed.length > 0) {
      this.#report("values-removed", place, `${listed(removed)} removed from the possible values`);
    }
    return added.length + removed.length === 0 ? {} : { enum: allowed, const: undefined };
  }

  #limits(flat: Schema, said: Schema, place: Place): Json {
    const changes: Record<string, unknown> = {};
    for (const keyword of [...lowerLimits, ...upperLimits, ...otherLimits]) {
      const [before, after] = [flat[keyword], said[keyword]];
      if (after === undefined || after === before) continue;
      if (before === undefined && after === 0 && /^min[A-Z]/.test(keyword) && keyword !== "minimum") continue;
      const isLooser =
        typeof before === "number" &&
        ((lowerLimits.includes(keyword) && Number(after) < before) ||
          (upperLimits.includes(keyword) && Number(after) > before));
      const change = before === undefined ? `is ${after}` : `changes from ${before} to ${after}`;
      this.#report(isLooser ? "limit-loosened" : "limit-tightened", place, `${keyword} ${change}`);
      changes[keyword] = after;
    }
    const [before, after] = [flat["format"], said["format"]];
    if (typeof after === "string" && after !== before && !numberFormats.includes(after)) {
      if (before === undefined) this.#report("format-added", place, `the format is ${after}`);
      else this.#report("format-changed", place, `the format changes from ${before} to ${after}`);
      changes["format"] = after;
    }
    return changes;
  }

  #properties(flat: Schema, said: Schema, place: Place): Json {
    const [before, after] = [recordIn(flat, "properties"), recordIn(said, "properties")];
    // An object without `properties` does not describe its properties.
    if (Object.keys(after).length === 0) return {};
    const requiredBefore = stringsIn(flat, "required");
    const requiredAfter = stringsIn(said, "required").filter((name) => Object.hasOwn(after, name));
    const at = (name: string): Place => ({ ...place, path: `${place.path}.${name}` });

    const properties: [string, unknown][] = [];
    for (const [name, schema] of Object.entries(before)) {
      const wasRequired = requiredBefore.includes(name);
      if (!Object.hasOwn(after, name)) {
        this.#report(
          wasRequired ? "property-removed" : "optional-property-removed",
          at(name),
          "the property is removed",
        );
        continue;
      }
      const isRequired = requiredAfter.includes(name);
      if (isRequired && !wasRequired)
        this.#report(requiredRule(name, "property-required"), at(name), "the property is now required");
      if (!isRequired && wasRequired)
        this.#report("property-optional", at(name), "the property is now optional");
      properties.push([name, this.schema(schema as Schema, after[name], at(name))]);
    }
    for (const [name, schema] of Object.entries(after)) {
      if (Object.hasOwn(before, name)) continue;
      const isRequired = requiredAfter.includes(name);
      this.#report(
        isRequired ? "required-property-added" : "property-added",
        at(name),
        `a${isRequired ? " required" : "n optional"} property is added`,
      );
      properties.push([name, adoptedSchema(schema)]);
    }
    const required = [
      ...requiredBefore.filter((name) => requiredAfter.includes(name)),
      ...requiredAfter.filter((name) => !requiredBefore.includes(name)),
    ];
    const changes: Record<string, unknown> = {};
    const isSame =
      properties.length === Object.keys(before).length &&
      properties.every(([name, schema]) => before[name] === schema);
    if (!isSame) changes["properties"] = Object.fromEntries(properties);
    if (!sameValues(required, requiredBefore))
      changes["required"] = required.length === 0 ? undefined : required;
    return changes;
  }

  /** The contract's list of operations in the wrapper that the service uses. */
  #asWrapped(name: string, own: Schema, said: Schema): Schema {
    if (name !== "OperationList") return own;
    const before = getListWrapper(own);
    const after = getListWrapper(said);
    if (before === undefined || after === undefined || before === after) return own;
    this.#report(
      "list-wrapper-changed",
      { operation: "listOperations", direction: "response", path: name },
      after === "" ? "the list has no wrapper" : `the property ${before} is now named ${after}`,
    );
    const list =
      before === "" ? { type: "array", items: own["items"] } : recordIn(recordIn(own, "properties"), before);
    const documentation = getDocumentation(own);
    if (after === "") return { ...documentation, ...list, ...documentation };
    return {
      ...documentation,
      type: "object",
      required: [after],
      additionalProperties: true,
      properties: { [after]: { description: "The newest operations, newest first.", ...list } },
    };
  }
}

/** A value that the client always sends can become required. */
export const requiredRule = <Rule extends DriftRule>(
  name: string,
  rule: Rule,
): Rule | "always-sent-required" =>
  /^(fieldValues|idempotency-key)$/i.test(name) ? "always-sent-required" : rule;

/** A schema of the service with only the keywords that the contract uses for types, validators and documentation. */
export function adoptedSchema(schema: unknown): Schema {
  if (!isRecord(schema)) return {};
  const { nullable, ...rest } = schema;
  const entries = Object.entries(rest).flatMap(([key, value]): [string, unknown][] => {
    if (["properties", "patternProperties"].includes(key) && isRecord(value))
      return [[key, mapProperties(value, adoptedSchema)]];
    if (["items", "not"].includes(key)) return [[key, adoptedSchema(value)]];
    if (key === "additionalProperties") return [[key, isRecord(value) ? adoptedSchema(value) : value]];
    if (["allOf", "anyOf", "oneOf", "prefixItems"].includes(key) && Array.isArray(value))
      return [[key, value.map(adoptedSchema)]];
    if (key === "$ref") return [[key, `${servedMark}${value}`]];
    return adoptedKeywords.includes(key) ? [[key, value]] : [];
  });
  const adopted = Object.fromEntries(entries);
  if (adopted["$ref"] !== undefined)
    return nullable === true ? { anyOf: [adopted, { type: "null" }] } : adopted;
  // Converts `nullable` and the exclusive limits of version 3.0 to version 3.1.
  if (nullable === true && Array.isArray(adopted["allOf"])) {
    const { allOf, ...documentation } = adopted;
    const whole = allOf.length === 1 ? allOf[0] : { allOf };
    return { ...documentation, anyOf: [whole, { type: "null" }] };
  }
  const { anyOf, oneOf, allOf, ...plain } = adopted;
  const flat = flattened({}, { ...plain, ...(nullable === true ? { nullable } : {}) });
  return withoutUndefined({ ...flat, anyOf, oneOf, allOf });
}

const adoptedKeywords = [
  ...["type", "required", "enum", "const", "format"],
  ...lowerLimits,
  ...upperLimits,
  ...otherLimits,
  ...["title", "description", "example", "examples", "deprecated", "readOnly", "writeOnly"],
];

const comparedKeywords = [
  ...adoptedKeywords.filter((key) => !isDocumentation(key)),
  ...["properties", "items", "additionalProperties", "not", "anyOf", "oneOf"],
];

/** The service's schema with the documentation of the contract. */
const replaced = (own: Schema, served: unknown): Schema => {
  const { "x-extensible-enum": _, ...documentation } = getDocumentation(own);
  return { ...adoptedSchema(served), ...documentation };
};

const getDocumentation = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => isDocumentation(key)));

function getTypes(schema: Schema): string[] | undefined {
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

const accepts = (types: readonly string[], type: string) =>
  types.includes(type) || (type === "integer" && types.includes("number"));

function getValues(schema: Schema): unknown[] | undefined {
  if (schema["const"] !== undefined) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
}

const isComposed = (schema: Schema) =>
  ["anyOf", "oneOf", "not"].some((keyword) => schema[keyword] !== undefined);

/** A schema with resolved references and without documentation, for a comparison. A recursive reference becomes its depth. */
function meaning(document: Json, schema: unknown, seen: readonly string[] = []): unknown {
  const reference = getReference(schema);
  if (reference !== undefined && seen.includes(reference)) return seen.length - seen.indexOf(reference);
  const next = reference === undefined ? seen : [...seen, reference];
  const keywords = Object.entries(flattened(document, schema)).filter(
    ([key, value]) =>
      comparedKeywords.includes(key) && !(key === "additionalProperties" && typeof value === "boolean"),
  );
  return Object.fromEntries(
    keywords.map(([key, value]) => {
      if (key === "properties" && isRecord(value))
        return [key, mapProperties(value, (property) => meaning(document, property, next))];
      if (["anyOf", "oneOf"].includes(key) && Array.isArray(value))
        return ["alternatives", value.map((part) => meaning(document, part, next))];
      if (["items", "not", "additionalProperties"].includes(key))
        return [key, meaning(document, value, next)];
      if (["required", "type", "enum"].includes(key)) return [key, [value].flat().map(String).sort()];
      return [key, value];
    }),
  );
}

/** The name of the property that contains the list, "" for an array, undefined without a list. */
function getListWrapper(schema: Schema): string | undefined {
  if (getTypes(schema)?.includes("array")) return "";
  return listWrappers.find((name) => getProperty(recordIn(schema, "properties"), name) !== undefined);
}

const nameIn = (reference: string) => decodeURIComponent(reference.split("/").at(-1) ?? "");

const stringsIn = (schema: Schema, keyword: string): string[] => {
  const value = schema[keyword];
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
};

const mapProperties = (value: Json, change: (property: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(value).map(([name, property]) => [name, change(property)]));

const withoutUndefined = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, property]) => property !== undefined));

const includes = (values: readonly unknown[], value: unknown) =>
  values.some((one) => isDeepStrictEqual(one, value));

const sameValues = (first: readonly unknown[], second: readonly unknown[]) =>
  first.length === second.length && first.every((value) => includes(second, value));

const listed = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).join(", ");
