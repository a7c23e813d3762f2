/** Converts a document to TypeScript with openapi-typescript. */
import openapiTS, {
  astToString,
  NULL,
  type OpenAPITSOptions,
  STRING,
  tsLiteral,
  tsUnion,
} from "openapi-typescript";
import ts from "typescript";
import { getMember, type Json } from "./document.ts";

/**
 * The document as openapi-typescript writes it; editors can complete the known values of open sets.
 * @param source the file that the banner names
 * @param options `immutable` makes properties and arrays read-only
 */
export async function schemaTypes(
  document: Json,
  source: string,
  options: OpenAPITSOptions = {},
): Promise<string> {
  return toBanner(source) + formatTypes(await toTypeNodes(document, options));
}

export const toTypeNodes = (document: Json, options: OpenAPITSOptions): Promise<ts.Node[]> =>
  openapiTS(withoutUnknownMembers(document) as never, {
    alphabetize: false,
    emptyObjectsUnknown: true,
    defaultNonNullable: false, // a request need not have a member that has a default
    silent: true,
    transform: (schema) => {
      const known = getMember(schema, "x-extensible-enum");
      const isNullable = [schema.type].flat().includes("null");
      return Array.isArray(known) ? createOpenSet(known, isNullable) : undefined;
    },
    ...options,
  });

/** Editors do not know the tag `@description`, and show the text only without it. */
export const formatTypes = (nodes: ts.Node[]): string =>
  astToString(nodes).replaceAll("@description ", "");

export const toBanner = (source: string) =>
  `/** Generated from ${source} by \`npm run generate\`. Do not edit. */\n\n`;

/**
 * A copy without `additionalProperties: true`, which would become
 * `{ id: string } & { [key: string]: unknown }`. Values can still have unknown members; with the
 * index signature a misspelled member would compile.
 */
const withoutUnknownMembers = (document: Json): Json =>
  JSON.parse(JSON.stringify(document), (name, value) =>
    name === "additionalProperties" && value === true ? undefined : value,
  );

/** `"active" | (string & {})`: in a plain union with `string` the known values would be lost. */
function createOpenSet(known: readonly unknown[], isNullable: boolean): ts.TypeNode {
  const { factory } = ts;
  const anyString = factory.createIntersectionTypeNode([STRING, factory.createTypeLiteralNode([])]);
  const types = known.map((value) => tsLiteral(value));
  types.push(factory.createParenthesizedType(anyString));
  if (isNullable) types.push(NULL);
  return tsUnion(types);
}
