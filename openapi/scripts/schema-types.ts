/** Turns the document into TypeScript types, with open sets that an editor can still complete. */
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const banner = "/** Generated from openapi.yaml by `npm run generate`. Do not edit. */\n\n";

export async function schemaTypes(yaml: string): Promise<string> {
  const nodes = await openapiTS(yaml, {
    alphabetize: false,
    emptyObjectsUnknown: true,
    transform: (schema) =>
      openSet(
        (schema as { "x-extensible-enum"?: unknown })["x-extensible-enum"],
        [schema.type].flat().includes("null"),
      ),
  });
  // The tag is not one that editors know; without it they show the text.
  return banner + astToString(nodes).replaceAll("@description ", "");
}

/** `"active" | (string & {})`: a plain union with string would swallow the known values. */
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
