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
    postTransform: withoutUnknownMembers,
  });
  // The tag is not one that editors know; without it they show the text.
  return banner + astToString(nodes).replaceAll("@description ", "");
}

/**
 * `{ id: string } & { [key: string]: unknown }` as `{ id: string }`. Members that the document does not name arrive all the same; with
 * the index signature a misspelt member would compile.
 */
function withoutUnknownMembers(type: ts.TypeNode): ts.TypeNode {
  if (!ts.isIntersectionTypeNode(type)) return type;
  const named = type.types.filter(
    (part) =>
      !(ts.isTypeLiteralNode(part) && part.members.length === 1 && part.members.every(isUnknownMember)),
  );
  return named.length === 1 && named[0] !== undefined ? named[0] : type;
}

const isUnknownMember = (member: ts.TypeElement) =>
  ts.isIndexSignatureDeclaration(member) && member.type.kind === ts.SyntaxKind.UnknownKeyword;

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
