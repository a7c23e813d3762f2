/** The files of `@loyalty-cards/contract`: the document, a JSON Schema per event, and the signature vectors. */
import { isRecord, type Json, recordIn, resolved, resolvePointer } from "./document.ts";
import type { Vector } from "./vectors.ts";

/** @returns the JSON of each file by its name in the package. */
export const contractFiles = (document: Json, vectors: readonly Vector[]): Record<string, unknown> => ({
  "openapi.json": document,
  "signatures.json": { version: 1, vectors: vectors.map(toPublished) },
  ...Object.fromEntries(
    Object.keys(recordIn(document, "webhooks")).map((type) => [
      `events/${type}.json`,
      eventSchema(document, type),
    ]),
  ),
});

/** The first version of the format, described in the README of the package. Every vector has every member. */
const toPublished = ({ header = [], toleranceSeconds = 300, verdict, ...vector }: Vector) => ({
  name: vector.name,
  body: vector.body,
  secrets: vector.secrets,
  header: [header].flat(),
  nowSeconds: vector.nowSeconds,
  toleranceSeconds,
  ...(verdict === "valid" ? { verdict } : { verdict: "invalid", reason: verdict }),
});

/** The schema of an event, with everything that it refers to in `$defs`. */
function eventSchema(document: Json, type: string): Json {
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
