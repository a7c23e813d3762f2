/** Converts the document to TypeScript: `schemaTypes` as openapi-typescript writes it, `wireTypes` as named interfaces whose members cite the specification. */
import openapiTS, { astToString, type OpenAPITSOptions } from "openapi-typescript";
import ts from "typescript";
import { type Json, recordIn } from "./document.ts";

/** @param source the file that the banner names. @param immutable makes properties and arrays read-only. */
export async function schemaTypes(
  document: Parameters<typeof openapiTS>[0],
  source = "openapi.yaml",
  immutable = false,
): Promise<string> {
  return toBanner(source) + withoutTags(astToString(await openapiTS(document, typeOptions(immutable))));
}

export const toBanner = (source: string) =>
  `/** Generated from ${source} by \`npm run generate\`. Do not edit. */\n\n`;

/** Editors do not know the tag `@description`, and show the text only without it. */
const withoutTags = (text: string) => text.replaceAll("@description ", "");

/** @param immutable makes properties and arrays read-only. */
const typeOptions = (immutable: boolean): OpenAPITSOptions => ({
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

/** `BalanceChangedEvent` of the document is `BalanceChanged` in TypeScript. */
export const toName = (schema: string) => schema.replace(/Event$/, "");
const isEvent = (schema: string) => schema.endsWith("Event");

/** The schemas as interfaces and types with names. Optional members can also be `undefined`, as forms and databases have them. */
export async function wireTypes(document: Json): Promise<string> {
  const copy: Json = JSON.parse(JSON.stringify(document)); // without shared objects, which the anchors of YAML make
  const schemas = recordIn(recordIn(copy, "components"), "schemas") as Record<string, Schema>;
  for (const schema of Object.values(schemas)) describeReferences(schema, schemas);
  for (const [name, schema] of Object.entries(schemas)) {
    if (isEvent(name) || name === "WalletChange")
      openOptionalMembers(isEvent(name) ? schema.properties?.["data"] : schema);
    citeSpecification(schema, undefined);
  }
  const nodes = await openapiTS(copy as never, typeOptions(false));
  const declared = nodes.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === "components");
  const [members] = (declared as ts.InterfaceDeclaration).members;
  const literal = (members as ts.PropertySignature).type as ts.TypeLiteralNode;
  const named = literal.members.map((member) => declare(member as ts.PropertySignature));
  return (
    toBanner("openapi.yaml") +
    withoutTags(astToString(named)).replaceAll(/\n\s*\* (.*)\n\s*\* @constant\n\s*\*/g, " $1 *")
  );
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  "x-spec"?: string;
}

/** A member that refers to a schema gets the description of that schema, which an editor shows. */
function describeReferences(schema: Schema, schemas: Record<string, Schema>): void {
  for (const member of Object.values(schema.properties ?? {})) {
    const { description, "x-spec": clause } = findSchema(schemas, member.$ref) ?? {};
    Object.assign(member, { ...(description && { description, "x-spec": clause }), ...pick(member) });
    describeReferences(member, schemas);
  }
}

export const findSchema = (schemas: Record<string, Schema>, reference = "") =>
  schemas[reference.slice(reference.lastIndexOf("/") + 1)];

/** What a handler does not need has no type: the service may omit or change it, and its event is not withheld for that. */
function openOptionalMembers(schema: Schema | undefined): void {
  const { properties = {}, required = [] } = schema ?? {};
  for (const [name, member] of Object.entries(properties)) {
    if (required.includes(name)) continue;
    if (member.properties === undefined) properties[name] = pick(member);
    else {
      Object.assign(member, { type: ["object", "null"], required: [] });
      openOptionalMembers(member);
    }
  }
}

const pick = ({ description, "x-spec": clause }: Schema): Schema => ({
  ...(description !== undefined && { description }),
  ...(clause !== undefined && { "x-spec": clause }),
});

/** `6.2, 6.3.4` as links to the page of the specification. */
const linkClauses = (clauses: string): string =>
  `spec ${clauses}`.replace(/(?:spec )?(\d[\d.]*)/g, (label, clause: string) => {
    const anchor = `spec-${clause.replaceAll(".", "-")}`;
    return `[${label}](https://loyalty-cards.github.io/loyalty-cards/specification#${anchor})`;
  });

/** Ends each description with its clause, `x-spec` of the schema or of the nearest one around it. */
function citeSpecification(schema: Schema, outer: string | undefined): void {
  const clause = schema["x-spec"] ?? outer;
  if (clause !== undefined && schema.description !== undefined)
    schema.description = schema.description.replace(/\.?$/, ` (${linkClauses(clause)}).`);
  delete schema.format; // it would be a line of the comment
  for (const member of Object.values(schema.properties ?? {})) citeSpecification(member, clause);
  if (schema.items !== undefined) citeSpecification(schema.items, clause);
}

function declare(member: ts.PropertySignature): ts.Statement {
  const { factory } = ts;
  const name = toName((member.name as ts.Identifier).text);
  const type = ts.visitNode(member.type as ts.TypeNode, simplify) as ts.TypeNode;
  const exported = [factory.createToken(ts.SyntaxKind.ExportKeyword)];
  const isInterface = ts.isTypeLiteralNode(type) && !type.members.some(ts.isIndexSignatureDeclaration);
  const declaration = isInterface
    ? factory.createInterfaceDeclaration(exported, name, undefined, undefined, type.members)
    : factory.createTypeAliasDeclaration(exported, name, undefined, type);
  return ts.setSyntheticLeadingComments(declaration, ts.getSyntheticLeadingComments(member));
}

/** `components["schemas"]["Card"]` becomes `Card`, and an optional member can be undefined. */
function simplify(node: ts.Node): ts.Node {
  const { factory } = ts;
  if (ts.isIndexedAccessTypeNode(node) && ts.isLiteralTypeNode(node.indexType))
    return factory.createTypeReferenceNode(toName((node.indexType.literal as ts.StringLiteral).text));
  const visited = ts.visitEachChild(node, simplify, undefined);
  if (!ts.isPropertySignature(visited) || visited.questionToken === undefined || visited.type === undefined)
    return visited;
  if (visited.type.kind === ts.SyntaxKind.UnknownKeyword) return visited;
  const type = factory.createUnionTypeNode([
    visited.type,
    factory.createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword),
  ]);
  return factory.updatePropertySignature(
    visited,
    visited.modifiers,
    visited.name,
    visited.questionToken,
    type,
  );
}
