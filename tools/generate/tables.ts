/**
 * Lists the endpoints and events of the document as tables of TypeScript, and creates the JSON
 * Schema of each event.
 */
import {
  getMember,
  isRecord,
  type Json,
  listEndpoints,
  recordIn,
  resolved,
  resolvePointer,
} from "./document.ts";
import { toBanner } from "./schema-types.ts";
import { type Schema, toName } from "./wire-types.ts";

const banner = toBanner("openapi.yaml");
const asJson = (value: unknown) => JSON.stringify(value, null, 2);

/** The endpoints of the API, by `operationId`. */
export function endpointTable(document: Json): string {
  const entries = listEndpoints(document).map(({ method, path, operation }): [string, object] => {
    const statuses = Object.keys(recordIn(operation, "responses"));
    const successStatus = Number(statuses.find((status) => status.startsWith("2")));
    const hasBody = operation["requestBody"] !== undefined;
    return [
      String(operation["operationId"]),
      { method: method.toUpperCase(), path, hasBody, successStatus },
    ];
  });
  const endpoints = Object.fromEntries(entries);
  return `${banner}/** The endpoints of the API, by their operationId: method, path below \`/api/v1\`, whether the request has a body, status of success. */
export const endpoints = ${asJson(endpoints)} as const;

/** The operationId of an endpoint. */
export type EndpointId = keyof typeof endpoints;
`;
}

const readEvents = (document: Json) =>
  Object.entries(recordIn(document, "webhooks")).map(([type, webhook]) => {
    const content = recordIn(recordIn(recordIn(webhook, "post"), "requestBody"), "content");
    const schema = recordIn(recordIn(content, "application/json"), "schema");
    const { description = "", properties = {} }: Schema = resolved(document, schema);
    const data: Schema = resolved(document, properties["data"]);
    return { type, name: toName(String(schema["$ref"])), description, data };
  });

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
    readEvents(document).map(({ type, name }) => [
      type,
      getMember(examples[`${name}Event`], "value"),
    ]),
  );
  return `${banner}import type { KnownEvents } from "./events.ts";

/** An example of each event, by type. */
export const eventExamples: KnownEvents = ${asJson(byType)};
`;
}

/**
 * The JSON Schema of an event for `@loyalty-cards/contract`, with everything that it refers to in
 * `$defs`.
 */
export function eventSchema(document: Json, type: string): Json {
  const { summary, requestBody } = recordIn(recordIn(recordIn(document, "webhooks"), type), "post");
  const media = recordIn(recordIn(requestBody, "content"), "application/json");
  const definitions: Record<string, unknown> = {};

  const standalone = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(standalone);
    if (!isRecord(node)) return node;
    return Object.fromEntries(
      Object.entries(node).flatMap(([keyword, value]): [string, unknown][] => {
        if (keyword === "$ref") return [["$ref", define(String(value))]];
        if (keyword === "x-extensible-enum") return [["examples", value]]; // an open set: known values only
        return keyword.startsWith("x-") ? [] : [[keyword, standalone(value)]];
      }),
    );
  };
  const define = (reference: string): string => {
    const name = reference.split("/").at(-1) ?? "";
    definitions[name] ??= standalone(resolvePointer(document, reference));
    return `#/$defs/${name}`;
  };

  const schema = standalone(resolved(document, media["schema"])) as Json;
  const examples = Object.values(recordIn(media, "examples"));
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `https://loyalty-cards.github.io/loyalty-cards/contract/events/${type}.json`,
    title: summary,
    ...schema,
    examples: examples.map((example) => resolved(document, example)["value"]),
    ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
  };
}
