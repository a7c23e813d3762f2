/** Converts the document to TypeScript types. Editors can complete the known values of open sets. */
import openapiTS, { astToString, type OpenAPITSOptions } from "openapi-typescript";
import ts from "typescript";

/** @param source the file that the banner names. @param immutable makes properties and arrays read-only. */
export async function schemaTypes(
  document: Parameters<typeof openapiTS>[0],
  source = "openapi.yaml",
  immutable = false,
): Promise<string> {
  const banner = `/** Generated from ${source} by \`npm run generate\`. Do not edit. */\n\n`;
  return banner + withoutTags(astToString(await openapiTS(document, typeOptions(immutable))));
}

/** Editors do not know the tag `@description`, and show the text only without it. */
export const withoutTags = (text: string) => text.replaceAll("@description ", "");

/** @param immutable makes properties and arrays read-only. */
export const typeOptions = (immutable: boolean): OpenAPITSOptions => ({
  immutable,
  alphabetize: false,
  emptyObjectsUnknown: true,
  transform: (schema) =>
    openSet(
      (schema as { "x-extensible-enum"?: unknown })["x-extensible-enum"],
      [schema.type].flat().includes("null"),
    ),
  postTransform: withoutUnknownProperties,
});

/**
 * Converts `{ id: string } & { [key: string]: unknown }` to `{ id: string }`. Values can still have unknown properties; with
 * the index signature a misspelled property would compile.
 */
function withoutUnknownProperties(type: ts.TypeNode): ts.TypeNode {
  if (!ts.isIntersectionTypeNode(type)) return type;
  const named = type.types.filter(
    (part) =>
      !(
        ts.isTypeLiteralNode(part) &&
        part.members.length === 1 &&
        part.members.every(isUnknownIndexSignature)
      ),
  );
  return named.length === 1 && named[0] !== undefined ? named[0] : type;
}

const isUnknownIndexSignature = (member: ts.TypeElement) =>
  ts.isIndexSignatureDeclaration(member) && member.type.kind === ts.SyntaxKind.UnknownKeyword;

/** `"active" | (string & {})`: in a plain union with `string` the known values would be lost. */
function openSet(values: unknown, mayBeNull: boolean): ts.TypeNode | undefined {
  if (!Array.isArray(values)) return undefined;
  const { factory } = ts;
  const anyOther = factory.createIntersectionTypeNode([
    factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
    factory.createTypeLiteralNode([]),
  ]);
  const known = values.map((value) =>
    factory.createLiteralTypeNode(factory.createStringLiteral(String(value))),
  );
  const none = mayBeNull ? [factory.createLiteralTypeNode(factory.createNull())] : [];
  return factory.createUnionTypeNode([...known, factory.createParenthesizedType(anyOther), ...none]);
}
