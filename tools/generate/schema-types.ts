/** Converts a document to TypeScript with openapi-typescript. Editors can complete the known values of open sets. */
import openapiTS, { astToString, NULL, STRING, tsLiteral, tsUnion } from "openapi-typescript";
import ts from "typescript";
import { getMember, type Json } from "./document.ts";

/** @param source the file that the banner names. @param immutable makes properties and arrays read-only. */
export const schemaTypes = async (document: Json, source: string, immutable = false): Promise<string> =>
  toBanner(source) + toText(await toNodes(document, immutable));

export const toBanner = (source: string) =>
  `/** Generated from ${source} by \`npm run generate\`. Do not edit. */\n\n`;

/** Editors do not know the tag `@description`, and show the text only without it. */
const toText = (nodes: ts.Node[]) => astToString(nodes).replaceAll("@description ", "");

const toNodes = (document: Json, immutable = false): Promise<ts.Node[]> =>
  openapiTS(withoutUnknownMembers(document) as never, {
    immutable,
    alphabetize: false,
    emptyObjectsUnknown: true,
    transform: (schema) =>
      openSet(getMember(schema, "x-extensible-enum"), [schema.type].flat().includes("null")),
  });

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
