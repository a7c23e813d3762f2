/** The files of `@loyalty-cards/contract`: the document, a JSON Schema per event, and the signature vectors. */
import {
  isRecord,
  type Json,
  recordIn,
  resolved,
  resolvePointer,
} from "../../packages/cli/src/drift/document.ts";
import type { Vector } from "./vectors.ts";

/** @returns the content of each file by its name in the package. */
export function contractFiles(document: Json, vectors: readonly Vector[]): Record<string, string> {
  const files: Record<string, unknown> = {
    "openapi.json": document,
    "signatures.json": signatures(vectors),
  };
  for (const type of Object.keys(recordIn(document, "webhooks")))
    files[`events/${type}.json`] = eventSchema(document, type);
  return Object.fromEntries(
    Object.entries(files).map(([name, value]) => [name, `${JSON.stringify(value, null, 2)}\n`]),
  );
}

/** The first version of the format, described in the README of the package. Every vector has every member. */
const signatures = (vectors: readonly Vector[]) => ({
  version: 1,
  vectors: vectors.map(
    ({ name, body, secrets, header = [], nowSeconds, toleranceSeconds = 300, verdict }) => ({
      name,
      body,
      secrets,
      header: [header].flat(),
      nowSeconds,
      toleranceSeconds,
      ...(verdict === "valid" ? { verdict } : { verdict: "invalid", reason: verdict }),
    }),
  ),
});

const schemaIds = "https://loyalty-cards.github.io/loyalty-cards/contract/events/";

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
    if (!Object.hasOwn(definitions, name)) {
      definitions[name] = undefined; // a schema may refer to itself
      definitions[name] = standalone(resolvePointer(document, reference));
    }
    return `#/$defs/${name}`;
  };

  const schema = standalone(resolved(document, media["schema"])) as Json;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `${schemaIds}${type}.json`,
    title: summary,
    ...schema,
    examples: Object.values(recordIn(media, "examples")).map(
      (example) => resolved(document, example)["value"],
    ),
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  };
}
