/** Finds our operations and events in the document of a service: under any path prefix, with any names of parameters, in one webhook or several. */
import { getMember, isRecord, type Json, listIn, recordIn, resolved } from "./document.ts";
import type { SchemaMerge } from "./schema-merge.ts";

const methods = ["get", "put", "post", "delete", "patch"];

export interface Operation {
  method: string;
  path: string;
  operation: Json;
  parameters: readonly Json[];
}

/** Every operation of a document, with the parameters of its path. */
export const operationsIn = (document: Json): Operation[] =>
  Object.entries(recordIn(document, "paths")).flatMap(([path, node]) => {
    const item = resolved(document, node);
    return methods
      .filter((method) => isRecord(item[method]))
      .map((method) => {
        const operation = item[method] as Json;
        const nodes = [...listIn(item, "parameters"), ...listIn(operation, "parameters")];
        return { method, path, operation, parameters: nodes.map((one) => resolved(document, one)) };
      });
  });

/** A path without the names of its parameters: `/passes/{}`. */
const toShape = (path: string) => path.replaceAll(/\{[^/]*\}/g, "{}").replace(/\/+$/, "");

/**
 * Our operations that the service has, by our path and method. All have one prefix, because `/customers/{id}/passes/{id}` is not
 * `/passes/{id}`.
 */
export function matchOperations(own: Json, served: Json): Map<string, Operation> {
  const byPrefix = new Map<string, Map<string, Operation>>();
  const ownOperations = operationsIn(own);
  for (const found of operationsIn(served)) {
    const shape = toShape(found.path);
    for (const { method, path } of ownOperations) {
      if (method !== found.method || !shape.endsWith(toShape(path))) continue;
      const prefix = shape.slice(0, -toShape(path).length);
      byPrefix.set(prefix, (byPrefix.get(prefix) ?? new Map()).set(`${method} ${path}`, found));
    }
  }
  const [best] = [...byPrefix].sort(
    ([one, first], [other, second]) => second.size - first.size || one.length - other.length,
  );
  return best?.[1] ?? new Map();
}

/** The schema of each event that the service's webhooks describe, by event type. */
export function matchEvents(own: Json, served: Json, schemas: SchemaMerge): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const items = { ...recordIn(served, "x-webhooks"), ...recordIn(served, "webhooks") };
  for (const [key, node] of Object.entries(items)) {
    const { requestBody } = recordIn(resolved(served, node), "post");
    const schema = jsonSchemaIn(resolved(served, requestBody));
    if (schema === undefined) continue;
    const isNamed = Object.hasOwn(recordIn(own, "webhooks"), key);
    for (const [type, one] of isNamed ? [[key, schema] as const] : eventsIn(schema, schemas))
      found.set(type, one);
  }
  return found;
}

/** The schema of a JSON body. */
export function jsonSchemaIn(body: Json): unknown {
  const content = recordIn(body, "content");
  const json = Object.keys(content).find((type) => /^application\/([\w.-]+\+)?json\b|^\*\/\*$/i.test(type));
  return json === undefined ? undefined : getMember(content[json], "schema");
}

/** The events of a schema: the targets of its discriminator, its alternatives, and the values of its member `type`. */
function eventsIn(schema: unknown, schemas: SchemaMerge): [type: string, schema: unknown][] {
  const { discriminator, anyOf, properties, required } = schemas.flattened(schema);
  const mapping = Object.entries(recordIn(discriminator, "mapping"));
  if (mapping.length > 0)
    return mapping.map(([type, target]) => [
      type,
      { $ref: String(target).startsWith("#") ? target : `#/components/schemas/${target}` },
    ]);
  if (Array.isArray(anyOf)) {
    const common = properties === undefined ? [] : [{ properties, required }];
    return anyOf.flatMap((one) => eventsIn({ allOf: [...common, one] }, schemas));
  }
  const { const: value, enum: values } = schemas.flattened(getMember(properties, "type"));
  const types = [value ?? values ?? []].flat();
  return types.filter((type) => typeof type === "string").map((type) => [type, schema]);
}
