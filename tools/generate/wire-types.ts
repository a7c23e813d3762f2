/**
 * Writes the schemas as interfaces and types whose members cite the specification. Editors show
 * them by name; the types of openapi-typescript have none, so that an editor lists all members.
 */
import { isRecord, type Json, recordIn, resolved } from "./document.ts";
import { toBanner } from "./schema-types.ts";

/** The part of JSON Schema that openapi.yaml has. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  description?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  "x-spec"?: string;
  "x-extensible-enum"?: string[];
}

/** Where a type is written. */
interface Place {
  indent: string;
  /** The clause of the schema, or of the nearest one around it. */
  clause: string;
}

/**
 * `BalanceChangedEvent` of the document, or a reference to it, is `BalanceChanged` in TypeScript.
 */
export const toName = (schema: string) =>
  schema.slice(schema.lastIndexOf("/") + 1).replace(/Event$/, "");

/**
 * The schemas as interfaces and types. Optional members can also be `undefined`, as forms and
 * databases have them.
 */
export function wireTypes(document: Json): string {
  const schemas = recordIn(recordIn(document, "components"), "schemas");
  const complete = withTargetTexts(document, schemas) as Record<string, Schema>;
  const declarations = Object.entries(loosenEventData(complete)).map(formatDeclaration);
  return toBanner("openapi.yaml") + declarations.join("");
}

/** Each reference with the description and the clause of its target. */
const withTargetTexts = (document: Json, schemas: Json): unknown =>
  JSON.parse(JSON.stringify(schemas), (_name, node) => {
    if (!isRecord(node) || node["$ref"] === undefined) return node;
    const { description, "x-spec": clause } = resolved(document, node);
    return { description, "x-spec": clause, ...node };
  });

/** The schemas with loose event data: the member `data`, or the schema to which it refers. */
function loosenEventData(schemas: Record<string, Schema>): Record<string, Schema> {
  const references = Object.values(schemas).map(({ properties }) => properties?.["data"]?.$ref);
  const entries = Object.entries(schemas).map(([name, schema]) => {
    if (references.includes(`#/components/schemas/${name}`)) return [name, loosen(schema)];
    const { data, ...others } = schema.properties ?? {};
    if (data === undefined) return [name, schema];
    return [name, { ...schema, properties: { ...others, data: loosen(data) } }];
  });
  return Object.fromEntries(entries);
}

/**
 * What a handler does not need has no type: the service may omit or change it, and its event is not
 * withheld for that.
 */
function loosen(schema: Schema): Schema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const members = Object.entries(properties).map(([name, member]) => {
    if (required.includes(name)) return [name, member];
    const { description, "x-spec": clause } = member;
    const texts = { description, "x-spec": clause };
    if (member.properties === undefined) return [name, texts];
    return [name, { ...loosen({ ...member, required: [] }), type: ["object", "null"] }];
  });
  return { ...schema, properties: Object.fromEntries(members) };
}

function formatDeclaration([name, schema]: [string, Schema]): string {
  const place = { indent: "", clause: schema["x-spec"] ?? "" };
  const type = listTypes(schema, place).join(" | ");
  const comment = formatComment(schema.description, place);
  return schema.properties === undefined
    ? `${comment}export type ${toName(name)} = ${type};\n`
    : `${comment}export interface ${toName(name)} ${type}\n`;
}

/** The types of a schema, of which a value has one. */
function listTypes(schema: Schema, place: Place): string[] {
  const { $ref, anyOf, properties } = schema;
  if ($ref !== undefined) return [toName($ref)];
  if (anyOf !== undefined) return anyOf.flatMap((one) => listTypes(one, place));
  const literals = listLiterals(schema);
  if (literals.length > 0) return literals;
  const names = [schema.type ?? (properties === undefined ? "unknown" : "object")].flat();
  return names.map((name) => formats[name]?.(schema, place) ?? name);
}

function listLiterals({ type, const: value, enum: values, ...schema }: Schema): string[] {
  const known = schema["x-extensible-enum"]?.map((one) => JSON.stringify(one));
  const orNull = [type].flat().includes("null") ? ["null"] : [];
  if (known !== undefined) return [...known, "(string & {})", ...orNull];
  if (values !== undefined) return values.map((one) => JSON.stringify(one));
  return value === undefined ? [] : [JSON.stringify(value)];
}

/** How the types of JSON Schema are written in TypeScript, if they have another name there. */
const formats: Readonly<Record<string, (schema: Schema, place: Place) => string>> = {
  integer: () => "number",
  array: formatArray,
  object: formatObject,
};

function formatArray({ items = {} }: Schema, place: Place): string {
  const types = listTypes(items, place);
  return types.length === 1 ? `${types[0]}[]` : `(${types.join(" | ")})[]`;
}

function formatObject(schema: Schema, place: Place): string {
  const { properties, additionalProperties: others, required = [] } = schema;
  const inner = { ...place, indent: `${place.indent}    ` };
  const lines: string[] = [];
  if (typeof others === "object")
    lines.push(`${inner.indent}[key: string]: ${listTypes(others, inner).join(" | ")};\n`);
  else if (properties === undefined) return "Record<string, unknown>";
  for (const [name, member] of Object.entries(properties ?? {}))
    lines.push(formatMember(name, member, required.includes(name), inner));
  return `{\n${lines.join("")}${place.indent}}`;
}

function formatMember(name: string, member: Schema, isRequired: boolean, outer: Place): string {
  const place = { ...outer, clause: member["x-spec"] ?? outer.clause };
  const types = listTypes(member, place);
  if (!isRequired && !types.includes("unknown")) types.push("undefined");
  const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
  const declaration = `${key}${isRequired ? "" : "?"}: ${types.join(" | ")};`;
  return `${formatComment(member.description, place)}${place.indent}${declaration}\n`;
}

/**
 * A description that ends with links to its clauses, such as `6.2, 6.3.4`, on the page of the
 * specification.
 */
function formatComment(description: string | undefined, { indent, clause }: Place): string {
  if (description === undefined) return "";
  const text = description.replaceAll(/\s+/g, " ").replaceAll("*/", "*\\/");
  const links = `spec ${clause}`.replace(/(?:spec )?(\d[\d.]*)/g, (label, number: string) => {
    const anchor = `spec-${number.replaceAll(".", "-")}`;
    return `[${label}](https://loyalty-cards.github.io/loyalty-cards/specification#${anchor})`;
  });
  const sentence = clause === "" ? text : text.replace(/\.?$/, ` (${links}).`);
  return `${indent}/** ${sentence} */\n`;
}
