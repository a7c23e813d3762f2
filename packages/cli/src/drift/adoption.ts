/** Copies schemas of the service into the contract: converts their keywords to OpenAPI 3.1, and adds the components that they refer to. */
import { getProperty, isRecord, type Json, mapProperties, nameIn, recordIn } from "./document.ts";
import {
  type ApiDocument,
  isDocumentation,
  lowerLimits,
  otherConstraints,
  otherLimits,
  type Schema,
  upperLimits,
  withNull,
  withNumericLimits,
} from "./schema-form.ts";
import type { Work } from "./work.ts";

/** Prefix of a reference into the served document, until `adoptReferences` replaces it with a name in the contract. */
const servedMark = "served:";

/** Types, validators and YAML are generated for each adopted value, which takes about as much work as this number of steps. */
const stepsPerValue = 20;

const adoptedKeywords = [
  ...["type", "required", "enum", "const", "format"],
  ...[...lowerLimits, ...upperLimits, ...otherLimits, ...otherConstraints],
  ...["title", "description", "example", "examples", "deprecated", "readOnly", "writeOnly"],
];

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const schemaKeywords = [
  ...["items", "additionalProperties", "not", "allOf", "anyOf", "oneOf", "prefixItems", "unevaluatedItems"],
  ...["contains", "propertyNames", "if", "then", "else"],
];
const schemaMapKeywords = ["properties", "patternProperties", "dependentSchemas"];

/** A schema of the service with only the keywords that the contract uses for types, validators and documentation. */
export function adoptedSchema(schema: unknown): Schema {
  if (!isRecord(schema)) return {};
  const { nullable, ...rest } = schema;
  const entries = Object.entries(rest).flatMap(([key, value]): [string, unknown][] => {
    if (schemaMapKeywords.includes(key) && isRecord(value))
      return [[key, mapProperties(value, adoptedSchema)]];
    if (schemaKeywords.includes(key)) {
      if (Array.isArray(value)) return [[key, value.map(adoptedSchema)]];
      return [[key, isRecord(value) ? adoptedSchema(value) : value]];
    }
    if (key === "$ref") return [[key, `${servedMark}${value}`]];
    return adoptedKeywords.includes(key) ? [[key, value]] : [];
  });
  const adopted = Object.fromEntries(entries);
  if (adopted["$ref"] !== undefined)
    return nullable === true ? { anyOf: [adopted, { type: "null" }] } : adopted;
  if (nullable === true && Array.isArray(adopted["allOf"])) {
    const { allOf, ...documentation } = adopted;
    const whole = allOf.length === 1 ? allOf[0] : { allOf };
    return { ...documentation, anyOf: [whole, { type: "null" }] };
  }
  const numeric = withNumericLimits(adopted);
  return nullable === true ? withNull(numeric) : numeric;
}

/**
 * The service's schema with the documentation of the contract.
 *
 * @param said the service's schema as `flattened` returns it. With its reference kept, the component of that name would refer to itself
 */
export const replacedSchema = (own: Schema, said: Schema): Schema => {
  const { "x-extensible-enum": _, ...documentation } = getDocumentation(own);
  return { ...adoptedSchema(said), ...documentation };
};

export const getDocumentation = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => isDocumentation(key)));

/**
 * Replaces the references of adopted schemas with names in the contract, and adds the components of the service that they lead to.
 *
 * @param names the names in the contract of references into the served document; others get a new name
 */
export function adoptReferences(
  contract: Json,
  served: ApiDocument,
  names: ReadonlyMap<string, string>,
  work: Work,
): Json {
  const known = new Map(names);
  const taken = new Set([
    ...Object.keys(recordIn(recordIn(contract, "components"), "schemas")),
    ...known.values(),
  ]);
  const numbers = new Map<string, number>();
  const queue: { pointer: string; name: string }[] = [];
  const getName = (pointer: string): string => {
    const ownName = known.get(pointer);
    if (ownName !== undefined) return ownName;
    const servedName = nameIn(pointer).replace(/\W/g, "").slice(0, 100) || "Schema";
    let name = servedName;
    while (taken.has(name)) {
      const number = numbers.get(servedName) ?? 0;
      numbers.set(servedName, number + 1);
      name = `Service${servedName}${number || ""}`;
    }
    taken.add(name);
    known.set(pointer, name);
    queue.push({ pointer, name });
    return name;
  };
  const named = (value: unknown): unknown => {
    work.spend(stepsPerValue);
    if (Array.isArray(value)) return value.map(named);
    if (!isRecord(value)) return value;
    const next = mapProperties(value, named);
    const reference = getProperty(value, "$ref");
    if (typeof reference !== "string" || !reference.startsWith(servedMark)) return next;
    return { ...next, $ref: `#/components/schemas/${getName(reference.slice(servedMark.length))}` };
  };
  const adopted = named(contract) as Json;
  const components = recordIn(adopted, "components");
  const schemas: [string, unknown][] = Object.entries(recordIn(components, "schemas"));
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    schemas.push([next.name, named(adoptedSchema(served.resolved({ $ref: next.pointer })))]);
  }
  return { ...adopted, components: { ...components, schemas: Object.fromEntries(schemas) } };
}
