/** Lists the operations and events of the document as tables of TypeScript. */
import { getMember, type Json, listOperations, recordIn, resolved } from "./document.ts";
import { toBanner } from "./schema-types.ts";
import { type Schema, toName } from "./wire-types.ts";

const banner = toBanner("openapi.yaml");
const asJson = (value: unknown) => JSON.stringify(value, null, 2);

/** The operations of the API, by `operationId`. */
export function operationTable(document: Json): string {
  const entries = listOperations(document).map(({ method, path, operation }): [string, object] => {
    const statuses = Object.keys(recordIn(operation, "responses"));
    const successStatus = Number(statuses.find((status) => status.startsWith("2")));
    const hasBody = operation["requestBody"] !== undefined;
    return [
      String(operation["operationId"]),
      { method: method.toUpperCase(), path, hasBody, successStatus },
    ];
  });
  const operations = Object.fromEntries(entries);
  return `${banner}/** The operations of the API, by their operationId: method, path below \`/api/v1\`, whether the request has a body, status of success. */
export const operations = ${asJson(operations)} as const;

/** The operationId of an operation. */
export type OperationId = keyof typeof operations;
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
  const required = Object.fromEntries(events.map(({ type, data }) => [type, requiredTypes(data)]));
  return `${banner}import type { ${events.map(({ name }) => name).join(", ")} } from "./types.ts";

/** The known events, by type. */
export interface KnownEvents {
${members.join("")}}

/** The members of \`data\` that a handler needs, with their JSON types, by event type. */
export const requiredData = ${asJson(required)} as const satisfies Record<keyof KnownEvents, Record<string, "string" | "number" | "string[]">>;

/** The types of the known events. */
export const eventTypes = Object.keys(requiredData) as readonly (keyof KnownEvents)[];
`;
}

/** The required members with their types. */
const requiredTypes = ({ properties = {}, required = [] }: Schema) =>
  Object.fromEntries(required.map((name) => [name, formatType(properties[name] as Schema)]));

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
