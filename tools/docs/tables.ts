/**
 * Tables and lists of the pages that follow from the code or from the OpenAPI document. As a command, `npm run snippets`, it updates
 * them and the code that the pages quote.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { exitCodeDescriptions } from "../../packages/cli/src/command-error.ts";
import { retryableStatuses } from "../../packages/issuing-client/src/retry.ts";
import manifest from "../../packages/webhook-verify/package.json" with { type: "json" };
import { root } from "../published.ts";
import { readEntries } from "../release/build.ts";
import { createCallTable } from "./call-table.ts";
import { listPages, readFromRoot, updateSnippets } from "./snippets.ts";

const toTable = (head: readonly string[], rows: readonly (readonly string[])[]) => {
  const lines = [head, ...rows].map((cells) => `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |"));
  lines.splice(1, 0, `|${"---|".repeat(head.length)}`);
  return `\n${lines.join("\n")}\n\n`;
};

interface Schema {
  $ref?: string;
  description?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
}

const schemas: Readonly<Record<string, Schema>> = openapi.components.schemas;
const resolve = (schema: Schema) => schemas[schema.$ref?.split("/").at(-1) ?? ""] ?? schema;

/** `tier`, or `operation: { id, type }` for an object, as code. */
function formatMember(name: string, { properties }: Schema): string {
  return `\`${name}${properties === undefined ? "" : `: { ${Object.keys(properties).join(", ")} }`}\``;
}

function eventRows(): string[][] {
  return Object.entries(openapi.webhooks).map(([type, { post }]) => {
    const { properties = {} } = resolve(post.requestBody.content["application/json"].schema);
    const { required = [], properties: members } = resolve(properties["data"] ?? {});
    if (members === undefined) return [`\`${type}\``, "", "not specified"];
    const format = (isRequired: boolean) =>
      Object.entries(members)
        .filter(([name]) => required.includes(name) === isRequired)
        .map(([name, member]) => formatMember(name, member))
        .join(", ");
    return [`\`${type}\``, format(true), format(false)];
  });
}

/** The adapters of webhook-verify: what the first line of each says after "Receives deliveries in". */
function adapterRows(): string[][] {
  const entries = Object.entries(readEntries(manifest.exports)).filter(([name]) => name !== "index");
  return entries.map(([name, source]) => {
    const file = `packages/webhook-verify/${source}`;
    const [, frameworks] = /^\/\*\* Receives deliveries in (.*?)\. \*\//.exec(readFromRoot(file)) ?? [];
    if (frameworks === undefined)
      throw new Error(`The first line of ${file} must be: /** Receives deliveries in FRAMEWORK. */`);
    return [`\`${manifest.name}/${name}\``, frameworks];
  });
}

/** The operations: the method of the client with its parameters, and the summary. */
function operationRows(): string[][] {
  const client = readFromRoot("packages/issuing-client/src/client.ts");
  const operations = Object.values(openapi.paths).flatMap((path) => Object.values(path));
  return operations.map(({ operationId, summary }) => {
    const method = new RegExp(`^ {2}${operationId}\\b[^(]*\\(([^;]*)\\): Promise`, "m").exec(client);
    const names = method?.[1]?.match(/(?<!\{ )\b\w+\??(?=: )/g) ?? [];
    return [`\`${operationId}(${names.join(", ")})\``, summary];
  });
}

const parts: Readonly<Record<string, () => string | Promise<string>>> = {
  adapters: () => toTable(["entry point", "for deliveries in"], adapterRows()),
  calls: async () => toTable(...(await createCallTable())),
  events: () => toTable(["event", "`data`: checked", "optional, of type `unknown`"], eventRows()),
  "exit-codes": () => toTable(["exit code", "meaning"], Object.entries(exitCodeDescriptions)),
  operations: () => toTable(["method", "what it does"], operationRows()),
  "retryable-statuses": () => `${retryableStatuses.join(", ")} and 5xx`,
};

const marked = /(<!-- generated: ([\w-]+) -->\n?)[\s\S]*?(<!-- \/generated -->)/g;

/** Returns the page with its quoted code and generated parts as they follow from the sources now. @throws for an unknown part. */
export async function updatePage(page: string): Promise<string> {
  const made = new Map<string, string>();
  for (const [, , name = ""] of page.matchAll(marked)) {
    const make = parts[name];
    if (make === undefined) throw new Error(`tools/docs/tables.ts has no part "${name}".`);
    made.set(name, await make());
  }
  return updateSnippets(page).replace(
    marked,
    (_whole, start: string, name: string, end: string) => start + made.get(name) + end,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of listPages()) {
    const before = readFromRoot(page);
    const after = await updatePage(before);
    if (after === before) continue;
    writeFileSync(join(root, page), after);
    console.log(`updated ${page}`);
  }
}
