/**
 * The data files of `@loyalty-cards/contract`: the OpenAPI document, a JSON Schema of each event,
 * and the signature vectors. The build of the package writes them into its folder.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readFromRoot } from "../docs/snippets.ts";
import {
  isRecord,
  type Json,
  recordIn,
  resolved,
  resolvePointer,
  toSchemaName,
} from "./document.ts";

export function writeContract(folder: string): void {
  const text = readFromRoot("openapi/generated/openapi.json");
  const document: Json = JSON.parse(text);
  mkdirSync(join(folder, "events"), { recursive: true });
  writeFileSync(join(folder, "openapi.json"), text);
  writeFileSync(join(folder, "signatures.json"), readFromRoot("openapi/vectors/signatures.json"));
  for (const type of Object.keys(recordIn(document, "webhooks"))) {
    const schema = JSON.stringify(eventSchema(document, type), null, 2);
    writeFileSync(join(folder, "events", `${type}.json`), `${schema}\n`);
  }
}

/** The JSON Schema of an event, with everything that it refers to in `$defs`. */
function eventSchema(document: Json, type: string): Json {
  const { summary, requestBody } = recordIn(recordIn(recordIn(document, "webhooks"), type), "post");
  const media = recordIn(recordIn(requestBody, "content"), "application/json");
  const schema = resolved(document, media["schema"]);
  const definitions = readDefinitions(document, schema);
  const examples = Object.values(recordIn(media, "examples"));
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `https://loyalty-cards.github.io/loyalty-cards/contract/events/${type}.json`,
    title: summary,
    ...(toStandalone(schema) as Json),
    examples: examples.map((example) => resolved(document, example)["value"]),
    ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
  };
}

/** What a schema refers to, directly or through others, by name. */
function readDefinitions(document: Json, schema: unknown): Json {
  const definitions: Record<string, unknown> = {};
  const references = listReferences(schema); // the loop adds to it
  for (const reference of references) {
    const target = resolvePointer(document, reference);
    definitions[toSchemaName(reference)] = toStandalone(target);
    references.push(...listReferences(target).filter((other) => !references.includes(other)));
  }
  return definitions;
}

function listReferences(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([keyword, value]) =>
    keyword === "$ref" ? [String(value)] : listReferences(value),
  );
}

/** The schema with references to `$defs`, and without the keywords that only this project reads. */
function toStandalone(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toStandalone);
  if (!isRecord(node)) return node;
  const standalone: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === "$ref") standalone[keyword] = `#/$defs/${toSchemaName(String(value))}`;
    else if (keyword === "x-extensible-enum")
      standalone["examples"] = value; // an open set
    else if (!keyword.startsWith("x-")) standalone[keyword] = toStandalone(value);
  }
  return standalone;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeContract(process.cwd());
