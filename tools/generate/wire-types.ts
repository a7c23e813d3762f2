/**
 * The schemas as interfaces and types whose members cite the specification. openapi-typescript
 * writes them as members of one interface: editors would list all members instead of a name.
 */
import { tsUnion, UNDEFINED, UNKNOWN } from "openapi-typescript";
import ts from "typescript";
import { isRecord, type Json, recordIn, resolved, toSchemaName } from "./document.ts";
import { formatTypes, toBanner, toTypeNodes } from "./schema-types.ts";

/** The part of JSON Schema that the generators read. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  required?: string[];
  properties?: Schemas;
  items?: Schema;
  "x-spec"?: string;
}

type Schemas = Record<string, Schema>;

/**
 * `BalanceChangedEvent` of the document, or a reference to it, is `BalanceChanged` in TypeScript.
 */
export const toName = (schema: string) => toSchemaName(schema).replace(/Event$/, "");

export async function wireTypes(document: Json): Promise<string> {
  const loose = loosenEventData(describeReferences(document));
  const schemas = mapSchemas(loose, (schema) => addLinks(schema));
  const nodes = await toTypeNodes(
    { openapi: "3.1.0", components: { schemas } },
    { transformProperty: allowUndefined },
  );
  const types = formatTypes(listDeclarations(nodes));
  // openapi-typescript refers to the members of its one interface.
  const reference = /components\["schemas"\]\["(\w+)"\]/g;
  return toBanner("openapi.yaml") + types.replaceAll(reference, (_, name: string) => toName(name));
}

function mapSchemas(schemas: Schemas, map: (schema: Schema, name: string) => Schema): Schemas {
  const entries = Object.entries(schemas).map(([name, schema]) => [name, map(schema, name)]);
  return Object.fromEntries(entries);
}

/** Optional members can also be `undefined`, as forms and databases have them. */
function allowUndefined(property: ts.PropertySignature): ts.PropertySignature {
  const { modifiers, name, questionToken, type } = property;
  if (questionToken === undefined || type === undefined || type === UNKNOWN) return property;
  const either = tsUnion([type, UNDEFINED]);
  return ts.factory.updatePropertySignature(property, modifiers, name, questionToken, either);
}

/** The members of `components.schemas` as declarations with their comments. */
function listDeclarations(nodes: readonly ts.Node[]): ts.Node[] {
  const components = nodes
    .filter(ts.isInterfaceDeclaration)
    .find(({ name }) => name.text === "components");
  // Its first member is `schemas`.
  const schemas = components?.members.filter(ts.isPropertySignature)[0]?.type as ts.TypeLiteralNode;
  return schemas.members.filter(ts.isPropertySignature).map((member) => {
    const declaration = toDeclaration(toName((member.name as ts.Identifier).text), member.type);
    return ts.setSyntheticLeadingComments(declaration, ts.getSyntheticLeadingComments(member));
  });
}

function toDeclaration(name: string, type = UNKNOWN as ts.TypeNode): ts.Node {
  const { factory } = ts;
  const exported = [factory.createToken(ts.SyntaxKind.ExportKeyword)];
  return ts.isTypeLiteralNode(type)
    ? factory.createInterfaceDeclaration(exported, name, undefined, undefined, type.members)
    : factory.createTypeAliasDeclaration(exported, name, undefined, type);
}

/** The schemas, in which each reference has the description and the clause of its target. */
function describeReferences(document: Json): Schemas {
  const schemas = recordIn(recordIn(document, "components"), "schemas");
  return JSON.parse(JSON.stringify(schemas), (_name, node) => {
    if (!isRecord(node) || node["$ref"] === undefined) return node;
    const { description, "x-spec": clause } = resolved(document, node);
    return { description, "x-spec": clause, ...node };
  });
}

/** Loosens the data of events: the member `data`, or the schema to which it refers. */
function loosenEventData(schemas: Schemas): Schemas {
  const references = Object.values(schemas).map(({ properties }) => properties?.["data"]?.$ref);
  return mapSchemas(schemas, (schema, name) => {
    if (references.includes(`#/components/schemas/${name}`)) return loosen(schema);
    const { data, ...others } = schema.properties ?? {};
    if (data === undefined) return schema;
    return { ...schema, properties: { ...others, data: loosen(data) } };
  });
}

/**
 * Removes the types of what is not required, because a handler does not need it: the service may
 * omit or change it, and its event is not withheld for that. An object stays one, or is null, and
 * none of its members is required.
 */
function loosen(schema: Schema): Schema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const members = mapSchemas(properties, (member, name) => {
    if (required.includes(name)) return member;
    const { description, "x-spec": clause } = member;
    if (member.properties === undefined) return { description, "x-spec": clause } as Schema;
    return { ...loosen({ ...member, required: [] }), type: ["object", "null"] };
  });
  return { ...schema, properties: members };
}

/** Adds to each description links to its clauses; `outer` are those of the schema around it. */
function addLinks(schema: Schema, outer = ""): Schema {
  const { format: _, ...linked } = schema; // a comment would begin with the format
  const { description, properties, items, "x-spec": clauses = outer } = linked;
  if (description !== undefined && clauses !== "") {
    const sentences = description.replaceAll(/\s+/g, " ").replace(/\.$/, "");
    linked.description = `${sentences} (${formatLinks(clauses)}).`;
  }
  if (items !== undefined) linked.items = addLinks(items, clauses);
  if (properties !== undefined)
    linked.properties = mapSchemas(properties, (member) => addLinks(member, clauses));
  return linked;
}

/** `[spec 6.2](…#spec-6-2), [6.3.4](…#spec-6-3-4)` */
function formatLinks(clauses: string): string {
  const page = "https://loyalty-cards.github.io/loyalty-cards/specification";
  const toLink = (clause: string) => `[${clause}](${page}#spec-${clause.replaceAll(".", "-")})`;
  return clauses.split(", ").map(toLink).join(", ").replace("[", "[spec ");
}
