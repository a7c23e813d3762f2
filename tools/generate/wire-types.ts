/** Converts a document to TypeScript: with openapi-typescript, and the schemas as interfaces whose members cite the specification. */
import openapiTS, { astToString, NULL, STRING, tsLiteral, tsUnion } from "openapi-typescript";
import ts from "typescript";
import { getMember, type Json, recordIn, resolved } from "./document.ts";

/**
 * The document as openapi-typescript writes it; editors can complete the known values of open sets.
 * @param source the file that the banner names. @param immutable makes properties and arrays read-only.
 */
export async function schemaTypes(document: Json, source: string, immutable = false): Promise<string> {
  const nodes = await openapiTS(withoutUnknownMembers(document) as never, {
    immutable,
    alphabetize: false,
    emptyObjectsUnknown: true,
    transform: (schema) =>
      openSet(getMember(schema, "x-extensible-enum"), [schema.type].flat().includes("null")),
  });
  // Editors do not know the tag `@description`, and show the text only without it.
  return toBanner(source) + astToString(nodes).replaceAll("@description ", "");
}

export const toBanner = (source: string) =>
  `/** Generated from ${source} by \`npm run generate\`. Do not edit. */\n\n`;

/**
 * A copy without `additionalProperties: true`, which would become `{ id: string } & { [key: string]: unknown }`. Values can still
 * have unknown members; with the index signature a misspelled member would compile.
 */
const withoutUnknownMembers = (document: Json): Json =>
  JSON.parse(JSON.stringify(document), (name, value) =>
    name === "additionalProperties" && value === true ? undefined : value,
  );

/** `"active" | (string & {})`: in a plain union with `string` the known values would be lost. */
function openSet(values: unknown, mayBeNull: boolean): ts.TypeNode | undefined {
  if (!Array.isArray(values)) return undefined;
  const anyOther = ts.factory.createIntersectionTypeNode([STRING, ts.factory.createTypeLiteralNode([])]);
  const known = values.map((value) => tsLiteral(value));
  return tsUnion([...known, ts.factory.createParenthesizedType(anyOther), ...(mayBeNull ? [NULL] : [])]);
}

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

/** `BalanceChangedEvent` of the document, or a reference to it, is `BalanceChanged` in TypeScript. */
export const toName = (schema: string) => schema.slice(schema.lastIndexOf("/") + 1).replace(/Event$/, "");

/** The schemas as interfaces and types. Optional members can also be `undefined`, as forms and databases have them. */
export function wireTypes(document: Json): string {
  /** @param clause of the schema or the nearest one around it. @param isData whether the members are those of an event's `data` */
  const formatType = (schema: Schema, clause: string, indent: string, isData = false): string => {
    const { $ref, const: value, enum: values = [value], "x-extensible-enum": known, anyOf, items } = schema;
    if ($ref !== undefined) return toName($ref);
    const types = [schema.type ?? (schema.properties === undefined ? [] : "object")].flat();
    const orNull = types.includes("null") ? ["null"] : [];
    if (known !== undefined)
      return [...known.map((one) => JSON.stringify(one)), "(string & {})", ...orNull].join(" | ");
    if (values[0] !== undefined) return values.map((one) => JSON.stringify(one)).join(" | ");
    if (anyOf !== undefined) return anyOf.map((one) => formatType(one, clause, indent)).join(" | ");
    const formats: Record<string, () => string> = {
      integer: () => "number",
      array: () =>
        `${items === undefined ? "unknown" : formatType(items, clause, indent).replace(/.* \| .*/, "($&)")}[]`,
      object: () => formatObject(schema, clause, indent, isData),
    };
    return types.map((type) => formats[type]?.() ?? type).join(" | ") || "unknown";
  };

  const formatObject = (schema: Schema, clause: string, indent: string, isData: boolean): string => {
    const { properties, additionalProperties: others, required = [] } = schema;
    const next = `${indent}    `;
    if (typeof others === "object")
      return `{\n${next}[key: string]: ${formatType(others, clause, next)};\n${indent}}`;
    if (properties === undefined) return "Record<string, unknown>";
    const members = Object.entries(properties).map(([name, member]) => {
      const { description, "x-spec": own = clause }: Schema = { ...resolved(document, member), ...member };
      const isOptional = !required.includes(name);
      // What a handler does not need has no type: the service may omit or change it, and its event is not withheld for that.
      const type =
        isData && isOptional
          ? member.properties === undefined
            ? "unknown"
            : `(${formatObject({ ...member, required: [] }, own, next, true)} | null)`
          : formatType(member, own, next, name === "data");
      const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
      const text =
        isOptional && type !== "unknown"
          ? `${key}?: ${type} | undefined`
          : `${key}${isOptional ? "?" : ""}: ${type}`;
      return `${formatComment(description, own, next)}${next}${text};\n`;
    });
    return `{\n${members.join("")}${indent}}`;
  };

  const schemas = Object.entries(recordIn(recordIn(document, "components"), "schemas")) as [string, Schema][];
  const declarations = schemas.map(([name, schema]) => {
    const clause = schema["x-spec"] ?? "";
    const type = formatType(schema, clause, "", name === "WalletChange");
    const comment = formatComment(schema.description, clause, "");
    return schema.properties === undefined
      ? `${comment}export type ${toName(name)} = ${type};\n`
      : `${comment}export interface ${toName(name)} ${type}\n`;
  });
  return toBanner("openapi.yaml") + declarations.join("");
}

/** A description that ends with links to its clauses, such as `6.2, 6.3.4`, on the page of the specification. */
function formatComment(description: string | undefined, clauses: string, indent: string): string {
  if (description === undefined) return "";
  const text = description.replaceAll(/\s+/g, " ").replaceAll("*/", "*\\/");
  const links = `spec ${clauses}`.replace(/(?:spec )?(\d[\d.]*)/g, (label, clause: string) => {
    const anchor = `spec-${clause.replaceAll(".", "-")}`;
    return `[${label}](https://loyalty-cards.github.io/loyalty-cards/specification#${anchor})`;
  });
  return `${indent}/** ${clauses === "" ? text : text.replace(/\.?$/, ` (${links}).`)} */\n`;
}
