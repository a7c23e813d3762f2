/** Compares the schemas of a served document with the contract, and creates the updated schemas under the names of the contract. */
import { isDeepStrictEqual } from "node:util";
import { adoptedSchema, adoptReferences, getDocumentation, replacedSchema } from "./adoption.ts";
import { getProperty, isRecord, type Json, listIn, nameIn, recordIn } from "./document.ts";
import type { DriftRule, Place, Report } from "./drift-rules.ts";
import {
  type ApiDocument,
  getReference,
  getTypes,
  isComposed,
  isDocumentation,
  type Schema,
} from "./schema-form.ts";
import { compareValues, sameValues } from "./value-drift.ts";
import type { Work } from "./work.ts";

type Section = "schemas" | "parameters" | "responses";

/** The client accepts the list of operations as an array, or in one of these properties. */
const listWrappers = ["items", "operations", "data", "results"];

/** The two documents, and where the differences go. */
export interface Comparison {
  contract: ApiDocument;
  served: ApiDocument;
  report: Report;
  work: Work;
}

export class SchemaComparison {
  readonly notes = new Set<string>();
  readonly #contract: ApiDocument;
  readonly #served: ApiDocument;
  readonly #report: Report;
  readonly #work: Work;
  /** The compared components of the contract, as the service describes them, by section and name. */
  readonly #components = new Map<string, Json>();
  /** The name in the contract of a reference into the served document. */
  readonly #names = new Map<string, string>();
  readonly #comparing = new Set<string>();

  constructor({ contract, served, report, work }: Comparison) {
    this.#contract = contract;
    this.#served = served;
    this.#report = report;
    this.#work = work;
  }

  /**
   * Returns the schema of the contract with the differences of the service applied. What the service leaves out (limits, known values,
   * properties of an object without `properties`) stays as in the contract.
   */
  schema(own: Schema, served: unknown, place: Place): Schema {
    return this.#work.nested(() => this.#schema(own, served, place));
  }

  #schema(own: Schema, served: unknown, place: Place): Schema {
    const said = this.#served.flattened(served);
    const saysNothing = Object.keys(said).every(isDocumentation);
    if (saysNothing) {
      // The two agree when the contract also allows any value.
      if (getTypes(this.#contract.flattened(own)) !== undefined) {
        this.notes.add(`${place.path} has no type in the served document; the contract keeps its own.`);
      }
      return own;
    }
    const [reference, servedReference] = [getReference(own), getReference(served)];
    if (reference === undefined) return this.#inline(own, said, place);
    // A schema that contains itself is compared once.
    const pair = `${reference} ${servedReference}`;
    if (this.#comparing.has(pair)) return own;
    if (servedReference !== undefined) this.#comparing.add(pair);
    const result = this.component("schemas", own, place, (component, path) =>
      this.#inline(this.#asWrapped(nameIn(reference), component, said), said, { ...place, path }),
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
    const components = recordIn(recordIn(this.#contract.root, "components"), section);
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
  adoptComponents(contract: Json): Json {
    const components: Record<string, Json> = {
      ...(recordIn(contract, "components") as Record<string, Json>),
    };
    for (const [key, component] of this.#components) {
      const [section = "", name = ""] = key.split("/");
      components[section] = { ...components[section], [name]: component };
    }
    return adoptReferences({ ...contract, components }, this.#served, this.#names, this.#work);
  }

  /** @param said the schema of the service, in the form of `flattened` */
  #inline(own: Schema, said: Schema, place: Place): Schema {
    const flat = this.#contract.flattened(own);
    if (isComposed(flat) || isComposed(said)) {
      if (isDeepStrictEqual(this.#contract.meaning(flat), this.#served.meaning(said))) return own;
      this.#report("composition-changed", place, "the alternatives of anyOf, oneOf or not differ");
      return replacedSchema(own, said);
    }
    const [ownTypes, saidTypes] = [getTypes(flat), getTypes(said)];
    if (ownTypes === undefined && saidTypes !== undefined) {
      this.#report("type-narrowed", place, `the type is now ${saidTypes.join(" or ")}`);
      return replacedSchema(own, said);
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
          return replacedSchema(own, said);
        }
        changes["type"] = saidTypes.length === 1 ? saidTypes[0] : saidTypes;
        if (!saidTypes.includes("string")) changes["x-extensible-enum"] = undefined;
      }
    }
    Object.assign(changes, compareValues(flat, said, place, this.#report));
    Object.assign(changes, this.#properties(flat, said, place), this.#parts(flat, said, place));
    if (Object.keys(changes).length === 0) return own;
    const base = own["$ref"] === undefined && !isComposed(own) && own["allOf"] === undefined ? own : flat;
    return withoutUndefined({ ...base, ...changes });
  }

  /** Compares `items` and `additionalProperties`. */
  #parts(flat: Schema, said: Schema, place: Place): Json {
    const changes: Record<string, unknown> = {};
    for (const keyword of ["items", "additionalProperties"]) {
      const [before, after] = [getProperty(flat, keyword), getProperty(said, keyword)];
      const path = `${place.path}${keyword === "items" ? "[]" : ".*"}`;
      if (isRecord(before) && after === false) {
        this.#report("optional-property-removed", { ...place, path }, "other properties are not permitted");
        changes[keyword] = false;
      }
      if (!isRecord(after)) continue;
      if (!isRecord(before)) {
        if (keyword === "items") changes[keyword] = adoptedSchema(after);
        continue;
      }
      const next = this.schema(before, after, { ...place, path });
      if (next !== before) changes[keyword] = next;
    }
    return changes;
  }

  #properties(flat: Schema, said: Schema, place: Place): Json {
    const before = recordIn(flat, "properties");
    const all = recordIn(said, "properties");
    this.#work.spend(Object.keys(all).length);
    // Requests do not contain read-only properties, and responses no write-only ones.
    const hidden = place.direction === "request" ? "readOnly" : "writeOnly";
    const isHidden = (name: string) => getProperty(all[name], hidden) === true;
    const after = Object.fromEntries(Object.entries(all).filter(([name]) => !isHidden(name)));
    // An object without `properties` does not describe its properties, but may name those that are required.
    const isDescribed = Object.keys(all).length > 0;
    const requiredBefore = new Set(stringsIn(flat, "required"));
    const requiredAfter = new Set(stringsIn(said, "required").filter((name) => !isHidden(name)));
    if (!isDescribed) for (const name of requiredBefore) requiredAfter.add(name);
    const at = (name: string): Place => ({ ...place, path: `${place.path}.${name}` });

    const properties: [string, unknown][] = [];
    for (const [name, schema] of Object.entries(before)) {
      const [wasRequired, isRequired] = [requiredBefore.has(name), requiredAfter.has(name)];
      if (isDescribed && !isRequired && !Object.hasOwn(after, name)) {
        const rule = wasRequired ? "property-removed" : "optional-property-removed";
        this.#report(rule, at(name), "the property is removed");
        continue;
      }
      if (isRequired && !wasRequired)
        this.#report(requiredRule(name, "property-required"), at(name), "the property is now required");
      if (!isRequired && wasRequired)
        this.#report("property-optional", at(name), "the property is now optional");
      properties.push([name, isDescribed ? this.schema(schema as Schema, after[name], at(name)) : schema]);
    }
    for (const name of new Set([...Object.keys(after), ...requiredAfter])) {
      if (Object.hasOwn(before, name)) continue;
      const isRequired = requiredAfter.has(name);
      this.#report(
        isRequired ? "required-property-added" : "property-added",
        at(name),
        `a${isRequired ? " required" : "n optional"} property is added`,
      );
      properties.push([name, adoptedSchema(getProperty(after, name))]);
    }
    const required = [...[...requiredBefore].filter((name) => requiredAfter.has(name)), ...requiredAfter];
    const changes: Record<string, unknown> = {};
    const isSame =
      properties.length === Object.keys(before).length &&
      properties.every(([name, schema]) => before[name] === schema);
    if (!isSame) changes["properties"] = Object.fromEntries(properties);
    const names = [...new Set(required)];
    if (!sameValues(names, [...requiredBefore])) changes["required"] = names.length === 0 ? undefined : names;
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

const accepts = (types: readonly string[], type: string) =>
  types.includes(type) || (type === "integer" && types.includes("number"));

/** The name of the property that contains the list, "" for an array, undefined without a list. */
function getListWrapper(schema: Schema): string | undefined {
  if (getTypes(schema)?.includes("array")) return "";
  return listWrappers.find((name) => getProperty(recordIn(schema, "properties"), name) !== undefined);
}

const stringsIn = (schema: Schema, keyword: string): string[] =>
  listIn(schema, keyword).filter((name) => typeof name === "string");

const withoutUndefined = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, property]) => property !== undefined));
