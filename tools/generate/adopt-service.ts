/**
 * Brings our document up to that of a service: parameters, bodies and statuses of success of our operations, and the bodies of our
 * events. The rest is an overlay that stays: paths, names, documentation, examples, errors, security, headers of deliveries.
 */
import { type Json, listIn, mapMembers, printable, recordIn, resolved } from "./document.ts";
import { SchemaMerge } from "./schema-merge.ts";
import { jsonSchemaIn, matchEvents, matchOperations, type Operation } from "./service-matches.ts";

/** @returns our document after the changes, and a sentence for each operation and event that could not be matched. */
export function adoptService(own: Json, served: Json): { document: Json; unmatched: string[] } {
  const schemas = new SchemaMerge(own, served);
  const unmatched: string[] = [];
  const keep = (what: string) => unmatched.push(`${printable(what)}; openapi.yaml keeps its own.`);

  /** Our request body or response, with the JSON schema of the service. */
  const withSchema = (body: unknown, said: unknown): unknown => {
    if (said === undefined) return body;
    const content = recordIn(body, "content");
    const media = recordIn(content, "application/json");
    const schema = media["schema"] === undefined ? schemas.adopt(said) : schemas.merge(media["schema"], said);
    return { ...(body as Json), content: { ...content, "application/json": { ...media, schema } } };
  };

  const adoptBody = (body: unknown, node: unknown, what: string): unknown => {
    const said = resolved(served, node);
    const schema = jsonSchemaIn(said);
    if (schema === undefined && Object.keys(recordIn(said, "content")).length > 0)
      keep(`${what} is not JSON`);
    return withSchema(body, schema);
  };

  const adoptParameters = (path: string, nodes: readonly unknown[], found: Operation): unknown[] => {
    const waiting = new Map(found.parameters.map((one) => [toKey(one, found.path), one]));
    const kept = nodes.flatMap((node) => {
      const key = toKey(resolved(own, node), path);
      const said = waiting.get(key);
      waiting.delete(key);
      if (said === undefined) return key.startsWith("path") ? [node] : [];
      const required = key.startsWith("path") || said["required"] === true;
      const change = (one: Json) => ({
        ...one,
        required,
        schema: schemas.merge(one["schema"], said["schema"]),
      });
      return [schemas.shared(node, change)];
    });
    const added = [...waiting]
      .filter(([key]) => isAdded(key))
      .map(([, said]) => {
        const { name, in: place, required = false } = said;
        return { name, in: place, required, schema: schemas.adopt(said["schema"]) };
      });
    return [...kept, ...added];
  };

  const adoptOperation = (path: string, operation: Json, found: Operation): Json => {
    const { requestBody, ...rest } = operation;
    const what = `${found.method.toUpperCase()} ${found.path}`;
    const body = found.operation["requestBody"];
    const responses = recordIn(operation, "responses");
    const own = Object.keys(responses).find((status) => status.startsWith("2")) ?? "";
    const said = recordIn(found.operation, "responses");
    const successes = Object.keys(said).filter((status) => status.startsWith("2"));
    const success = successes.includes(own) ? own : (successes[0] ?? "");
    const status = /^\d+$/.test(success) ? success : own; // not 2XX
    return {
      ...rest,
      parameters: adoptParameters(path, listIn(operation, "parameters"), found),
      ...(body !== undefined && {
        requestBody: adoptBody(requestBody ?? { required: true }, body, `The request of ${what}`),
      }),
      responses: Object.fromEntries(
        Object.entries(responses).map(([name, response]) =>
          name === own
            ? [status, adoptBody(response, said[success], `The response of ${what}`)]
            : [name, response],
        ),
      ),
    };
  };

  const operations = matchOperations(own, served);
  if (operations.size === 0)
    throw new Error("The service's document has none of our operations: is this the address of the service?");
  const paths = mapMembers(recordIn(own, "paths"), (path, item) =>
    mapMembers(item, (method, operation) => {
      const found = operations.get(`${method} ${path}`);
      if (found !== undefined) return adoptOperation(path, operation as Json, found);
      keep(`The service's document has no operation ${method.toUpperCase()} ${path}`);
      return operation;
    }),
  );
  const events = matchEvents(own, served, schemas);
  const webhooks = mapMembers(recordIn(own, "webhooks"), (type, item) => {
    if (events.size > 0 && !events.has(type)) keep(`The service's document has no event ${type}`);
    const post = recordIn(item, "post");
    return {
      ...(item as Json),
      post: { ...post, requestBody: withSchema(post["requestBody"], events.get(type)) },
    };
  });
  if (events.size === 0) keep("The service's document describes none of our events");
  return { document: { ...own, paths, webhooks, components: schemas.components() }, unmatched };
}

/** Path parameters are matched by their place from the end of the path, others by name. */
const toKey = ({ in: place, name }: Json, path: string): string => {
  const steps = path.split("/").filter((step) => step.startsWith("{"));
  return place === "path"
    ? `path ${steps.reverse().indexOf(`{${name}}`)}`
    : `${place} ${String(name).toLowerCase()}`;
};

/** OpenAPI ignores the headers that a body, a response and a security scheme describe. */
const isAdded = (key: string) =>
  /^(query|header) /.test(key) && !/^header (accept|content-type|authorization)$/.test(key);
