/** Creates the JSON Schema of an event, for `@loyalty-cards/contract`. */
import { isRecord, type Json, recordIn, resolved, resolvePointer } from "./document.ts";

/** The schema of an event, with everything that it refers to in `$defs`. */
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
