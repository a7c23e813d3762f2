/** Turns the document into TypeScript types, with open sets that an editor can still complete. */
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const banner = "/** Generated from openapi.yaml by `npm run generate`. Do not edit. */\n\n";

export async function schemaTypes(yaml: string): Promise<string> {
  const nodes = await openapiTS(yaml, {
    alphabetize: false,
    emptyObjectsUnknown: true,
    transform: (schema) => openSet((schema as { "x-extensible-enum"?: unknown })["x-extensible-enum"]),
  });
  return banner + astToString(nodes);
}

/** `"active" | (string & {})`: a plain union with string would swallow the known values. */
function openSet(values: unknown): ts.TypeNode | undefined {
  if (!Array.isArray(values)) return undefined;
  const { factory } = ts;
  const anyOther = factory.createIntersectionTypeNode([
    factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
    factory.createTypeLiteralNode([]),
  ]);
  const known = values.map((value) =>
    factory.createLiteralTypeNode(factory.createStringLiteral(String(value))),
  );
  return factory.createUnionTypeNode([...known, factory.createParenthesizedType(anyOther)]);
}
