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
  properties?: Record<string, Schema>;
  items?: Schema;
  "x-spec"?: string;
}

/**
 * `BalanceChangedEvent` of the document, or a reference to it, is `BalanceChanged` in TypeScript.
 */
export const toName = (schema: string) => toSchemaName(schema).replace(/Event$/, "");

export async function wireTypes(document: Json): Promise<string> {
  const schemas = recordIn(recordIn(document, "components"), "schemas");
  const complete = withTargetTexts(document, schemas) as Record<string, Schema>;
  const loose = Object.entries(loosenEventData(complete));
  const cited = loose.map(([name, schema]) => [name, withLinks(schema)]);
  const nodes = await toTypeNodes(
    { openapi: "3.1.0", components: { schemas: Object.fromEntries(cited) } },
    { transformProperty: allowUndefined },
  );
  const types = formatTypes(listDeclarations(nodes));
  return (
    toBanner("openapi.yaml") + types.replaceAll(/components\["schemas"\]\["(\w+)"\]/g, toReference)
  );
}

const toReference = (_whole: string, name: string) => toName(name);

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

/** Each reference with the description and the clause of its target. */
const withTargetTexts = (document: Json, schemas: Json): unknown =>
  JSON.parse(JSON.stringify(schemas), (_name, node) => {
    if (!isRecord(node) || node["$ref"] === undefined) return node;
    const { description, "x-spec": clause } = resolved(document, node);
    return { description, "x-spec": clause, ...node };
  });

/** The schemas with loose event data: the member `data`, or the schema to which it refers. */
function loosenEventData(schemas: Record<string, Schema>): Record<string, Schema> {
  const references = Object.values(schemas).map(({ properties }) => properties?.["data"]?.$ref);
  const entries = Object.entries(schemas).map(([name, schema]) => {
    if (references.includes(`#/components/schemas/${name}`)) return [name, loosen(schema)];
    const { data, ...others } = schema.properties ?? {};
    if (data === undefined) return [name, schema];
    return [name, { ...schema, properties: { ...others, data: loosen(data) } }];
  });
  return Object.fromEntries(entries);
}

/**
 * What a handler does not need has no type: the service may omit or change it, and its event is not
 * withheld for that.
 */
function loosen(schema: Schema): Schema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const members = Object.entries(properties).map(([name, member]) => {
    if (required.includes(name)) return [name, member];
    const { description, "x-spec": clause } = member;
    const texts = { description, "x-spec": clause };
    if (member.properties === undefined) return [name, texts];
    return [name, { ...loosen({ ...member, required: [] }), type: ["object", "null"] }];
  });
  return { ...schema, properties: Object.fromEntries(members) };
}

/**
 * The schema with descriptions that end with links to their clauses, such as `6.2, 6.3.4`, on the
 * page of the specification.
 * @param outer the clause of the schema around it.
 */
function withLinks(schema: Schema, outer = ""): Schema {
  const { format: _, ...linked } = schema; // a comment would begin with the format
  const { description, properties, items, "x-spec": clause = outer } = linked;
  if (description !== undefined && clause !== "") {
    const text = description.replaceAll(/\s+/g, " ");
    linked.description = text.replace(/\.?$/, ` (${formatLinks(clause)}).`);
  }
  if (items !== undefined) linked.items = withLinks(items, clause);
  if (properties === undefined) return linked;
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    withLinks(member, clause),
  ]);
  return { ...linked, properties: Object.fromEntries(members) };
}

const formatLinks = (clause: string) =>
  `spec ${clause}`.replace(/(?:spec )?(\d[\d.]*)/g, (label, number: string) => {
    const anchor = `spec-${number.replaceAll(".", "-")}`;
    return `[${label}](https://loyalty-cards.github.io/loyalty-cards/specification#${anchor})`;
  });
