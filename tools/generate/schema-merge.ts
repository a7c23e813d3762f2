/** Brings our schemas up to those of a service: what it describes replaces ours, and what it leaves out stays, as do our documentation and `x-` members. */
import { isDeepStrictEqual } from "node:util";
import {
  getMember,
  getReference,
  isRecord,
  type Json,
  listIn,
  mapMembers,
  recordIn,
  resolvePointer,
} from "./document.ts";

const copiedKeywords = [
  ...["type", "required", "enum", "const", "format", "pattern", "multipleOf", "default", "uniqueItems"],
  ...["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties"],
  ...["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties"],
];
const isDocumentation = (keyword: string) => /^(title|description|examples?|deprecated)$|^x-/.test(keyword);

export class SchemaMerge {
  readonly #own: Json;
  readonly #served: Json;
  /** What became of our components, by reference. */
  readonly #components = new Map<string, unknown>();
  /** The references of the service that led to the current schema. */
  readonly #path: string[] = [];

  constructor(own: Json, served: Json) {
    this.#own = own;
    this.#served = served;
  }

  /** Our schema as the service describes it. A schema inside itself stays as it is. */
  merge(own: unknown, said: unknown): unknown {
    if (said === undefined) return own;
    const change = (schema: Json) => this.#merged(schema, this.flattened(said));
    return this.#inside(said, () => this.shared(own, change), own);
  }

  /** A new schema, written out without references. A schema inside itself becomes any value. */
  adopt(said: unknown): unknown {
    const create = () => {
      const flat = this.flattened(said);
      return this.#merged(
        pick(flat, (keyword) => ["title", "description"].includes(keyword)),
        flat,
      );
    };
    return this.#inside(said, create, {});
  }

  /** Changes a node of ours, or the component that it refers to. What another place changes differently is written out there. */
  shared(node: unknown, change: (own: Json) => Json): unknown {
    const reference = getReference(node);
    if (reference === undefined) return change(isRecord(node) ? node : {});
    const changed = change(resolvePointer(this.#own, reference) as Json);
    if (!this.#components.has(reference)) this.#components.set(reference, changed);
    return isDeepStrictEqual(this.#components.get(reference), changed) ? node : changed;
  }

  /** Our components, as they are now. */
  components(): Json {
    return mapMembers(recordIn(this.#own, "components"), (section, members) =>
      mapMembers(members, (name, own) => this.#components.get(`#/components/${section}/${name}`) ?? own),
    );
  }

  /**
   * One level of a schema of the service in the form of ours: references resolved, `allOf` joined, `nullable` and alternatives
   * of plain types written as a type, other alternatives as `anyOf`.
   */
  flattened(said: unknown): Json {
    if (!isRecord(said)) return {};
    const { $ref, allOf, anyOf, oneOf, nullable, ...rest } = said;
    const target = typeof $ref === "string" ? [resolvePointer(this.#served, $ref)] : [];
    const alternatives = [...listIn(said, "anyOf"), ...listIn(said, "oneOf")];
    const others = alternatives.filter((one) => getMember(one, "type") !== "null");
    const parts = [...target, ...listIn(said, "allOf"), ...(others.length === 1 ? others : [])];
    const flat = joinParts([...parts.map((part) => this.flattened(part)), rest]);
    const arePlain = others.every((one) => isRecord(one) && Object.keys(one).join() === "type");
    if (others.length > 1 && !arePlain)
      return { ...flat, anyOf: nullable === true ? [...alternatives, { type: "null" }] : alternatives };
    const types = [
      flat["type"] ?? [],
      others.length > 1 ? others.map((one) => getMember(one, "type")) : [],
    ].flat(2);
    const mayBeNull = nullable === true || others.length < alternatives.length;
    if (types.length > 0 && mayBeNull && !types.includes("null")) types.push("null");
    return types.length === 0 ? flat : { ...flat, type: types.length === 1 ? types[0] : types };
  }

  /** @param said a flattened schema. */
  #merged(own: Json, said: Json): Json {
    const { const: fixed, "x-extensible-enum": known } = own;
    // A service can describe `type` once, with the types of all events.
    if (fixed !== undefined && [said["enum"] ?? said["const"] ?? fixed].flat().includes(fixed)) return own;
    const isOther = isOtherType(own, said) || listIn(own, "anyOf").length !== listIn(said, "anyOf").length;
    const kept = isOther ? pick(own, isDocumentation) : own;
    const next: Record<string, unknown> = { ...kept };
    if (isOther) delete next["x-extensible-enum"];
    const update = (before: unknown, value: unknown) =>
      before === undefined ? this.adopt(value) : this.merge(before, value);
    for (const [keyword, value] of Object.entries(said)) {
      const before = kept[keyword];
      if (keyword === "properties")
        next[keyword] = mapMembers(value, (name, one) => update(getMember(before, name), one));
      else if (keyword === "anyOf")
        next[keyword] = [value].flat().map((one, index) => update(listIn(kept, keyword)[index], one));
      else if (["items", "additionalProperties"].includes(keyword))
        next[keyword] = isRecord(value) ? update(isRecord(before) ? before : undefined, value) : value;
      else if (keyword === "enum" && known !== undefined && !isOther)
        next["x-extensible-enum"] = isSameSet(known, value) ? known : value; // still an open set
      else if (copiedKeywords.includes(keyword)) next[keyword] = isSameSet(before, value) ? before : value;
    }
    if (isRecord(said["properties"]) && said["required"] === undefined) delete next["required"];
    return next;
  }

  /** Runs a function that calls this one for the parts of a schema. @returns `inner` for a schema inside itself */
  #inside<Result>(said: unknown, run: () => Result, inner: Result): Result {
    const parts = [said, ...["allOf", "anyOf", "oneOf"].flatMap((keyword) => listIn(said, keyword))];
    const references = parts.flatMap((part) => getReference(part) ?? []);
    if (references.some((reference) => this.#path.includes(reference))) return inner;
    this.#path.push(...references);
    try {
      return run();
    } finally {
      this.#path.length -= references.length;
    }
  }
}

/** A schema that accepts what all parts accept. */
function joinParts(parts: readonly Json[]): Json {
  const properties = new Map<string, unknown[]>();
  for (const part of parts)
    for (const [name, schema] of Object.entries(recordIn(part, "properties")))
      properties.set(name, [...(properties.get(name) ?? []), schema]);
  const required = new Set(parts.flatMap((part) => listIn(part, "required")));
  const members = [...properties].map(([name, all]) => [name, all.length === 1 ? all[0] : { allOf: all }]);
  return {
    ...Object.fromEntries(parts.flatMap((part) => Object.entries(part))),
    ...(members.length > 0 && { properties: Object.fromEntries(members) }),
    ...(required.size > 0 && { required: [...required] }),
  };
}

/** Whether both schemas name a type, and these differ in more than null. */
function isOtherType(own: Json, said: Json): boolean {
  const toTypes = ({ type = [] }: Json) => [type].flat().filter((one) => one !== "null");
  const [before, after] = [toTypes(own), toTypes(said)];
  return before.length > 0 && after.length > 0 && !isSameSet(before, after);
}

const sorted = (value: unknown) => (Array.isArray(value) ? value.toSorted() : value);
/** Whether both are equal, or lists of the same texts. */
const isSameSet = (before: unknown, after: unknown): boolean =>
  isDeepStrictEqual(sorted(before), sorted(after));

const pick = (value: Json, isPicked: (name: string) => boolean): Json =>
  Object.fromEntries(Object.entries(value).filter(([name]) => isPicked(name)));
