/** Names the schemas of the document as interfaces whose members cite the specification, and lists its operations and events as tables. */
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { getProperty, type Json, recordIn } from "../../packages/cli/src/drift/document.ts";
import { typeOptions, withoutTags } from "./schema-types.ts";

const banner = "/** Generated from openapi.yaml by `npm run generate`. Do not edit. */\n\n";
const asJson = (value: unknown) => JSON.stringify(value, null, 2);

/** `BalanceChangedEvent` of the document is `BalanceChanged` in TypeScript. */
const toName = (schema: string) => schema.replace(/Event$/, "");
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
    banner + withoutTags(astToString(named)).replaceAll(/\n\s*\* (.*)\n\s*\* @constant\n\s*\*/g, " $1 *")
  );
}

interface Schema {
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

const findSchema = (schemas: Record<string, Schema>, reference = "") =>
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

const methods = ["get", "put", "post", "delete", "patch"];

/** The operations of the API, by `operationId`. */
export function operationTable(document: Json): string {
  const operations: Record<string, unknown> = {};
  for (const [path, item] of Object.entries(recordIn(document, "paths"))) {
    for (const method of methods) {
      const operation = getProperty(item, method);
      if (operation === undefined) continue;
      const [success = ""] = Object.keys(recordIn(operation, "responses")).filter((status) =>
        status.startsWith("2"),
      );
      operations[String(getProperty(operation, "operationId"))] = {
        method: method.toUpperCase(),
        path,
        hasBody: getProperty(operation, "requestBody") !== undefined,
        successStatus: Number(success),
      };
    }
  }
  return `${banner}/** The operations of the API, by their ids: method, path below \`/api/v1\`, whether the request has a body, status of success. */
export const operations = ${asJson(operations)} as const;

/** The id of an operation. */
export type OperationId = keyof typeof operations;
`;
}

interface EventSchema {
  type: string;
  name: string;
  description: string;
  data: Schema;
}

function readEvents(document: Json): EventSchema[] {
  const schemas = recordIn(recordIn(document, "components"), "schemas") as Record<string, Schema>;
  return Object.entries(recordIn(document, "webhooks")).map(([type, webhook]) => {
    const content = recordIn(recordIn(recordIn(webhook, "post"), "requestBody"), "content");
    const reference = String(getProperty(getProperty(content["application/json"], "schema"), "$ref"));
    const { description = "", properties = {} } = findSchema(schemas, reference) as Schema;
    const data = properties["data"] as Schema;
    const name = toName(reference.slice(reference.lastIndexOf("/") + 1));
    return { type, name, description, data: findSchema(schemas, data.$ref) ?? data };
  });
}

/** The event types, with what a handler needs of their data. */
export function eventTable(document: Json): string {
  const events = readEvents(document);
  const members = events.map(
    ({ type, name, description }) => `  /** ${description} */\n  "${type}": ${name};\n`,
  );
  const required = Object.fromEntries(
    events.map(({ type, data: { properties = {}, required = [] } }) => [
      type,
      Object.fromEntries(required.map((name) => [name, formatType(properties[name] as Schema)])),
    ]),
  );
  return `${banner}import type { ${events.map(({ name }) => name).join(", ")} } from "./types.ts";

/** The known events, by type. */
export interface KnownEvents {
${members.join("")}}

/** The members of \`data\` that a handler needs, with their JSON types, by event type. */
export const requiredData = ${asJson(required)} as const satisfies Record<keyof KnownEvents, Record<string, "string" | "number" | "string[]">>;
`;
}

/** The checks of the verifier know these types. */
function formatType({ type, items }: Schema): string {
  const text = type === "array" ? `${items?.type}[]` : String(type);
  if (["string", "number", "string[]"].includes(text)) return text;
  throw new Error(
    `A required member of an event has the type ${text}, which no check of webhook-verify knows.`,
  );
}

/** The example of each event in the document. */
export function eventExamples(document: Json): string {
  const examples = recordIn(recordIn(document, "components"), "examples");
  const byType = Object.fromEntries(
    readEvents(document).map(({ type, name }) => [type, getProperty(examples[`${name}Event`], "value")]),
  );
  return `${banner}import type { KnownEvents } from "./events.ts";

/** An example of each event, by type. */
export const eventExamples: KnownEvents = ${asJson(byType)};
`;
}
