/**
 * Tables and lists of the pages that follow from the code or from the OpenAPI document. As a
 * command, `npm run snippets`, it updates them and the code that the pages quote.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import ts from "typescript";
import { exitCodeDescriptions } from "../../packages/cli/src/command-error.ts";
import { retryableStatuses } from "../../packages/issuing-client/src/retry.ts";
import manifest from "../../packages/webhook-verify/package.json" with { type: "json" };
import { readEntries } from "../release/build.ts";
import { root } from "../run.ts";
import { renderBenchmarks } from "./benchmarks.ts";
import { createCallTable } from "./call-table.ts";
import { renderCopy, renderFirstCommand, renderInstall, renderProject } from "./installation.ts";
import { listPages, readFromRoot, updateSnippets } from "./snippets.ts";

const toTable = (head: readonly string[], rows: readonly (readonly string[])[]) => {
  const [first, ...others] = [head, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `\n${[first, `|${"---|".repeat(head.length)}`, ...others].join("\n")}\n\n`;
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

/** The adapters of webhook-verify: what each says after "Receives deliveries in". */
function adapterRows(): string[][] {
  const { index: _, ...adapters } = readEntries(manifest.exports);
  return Object.entries(adapters).map(([name, source]) => {
    const file = `packages/webhook-verify/${source}`;
    const [firstComment = ""] = readFromRoot(file).split("*/");
    const sentence = firstComment.replaceAll(/[\s/*]+/g, " ").trim();
    const [, frameworks] = /^Receives deliveries in (.*)\.$/.exec(sentence) ?? [];
    if (frameworks === undefined)
      throw new Error(`${file} must begin with: /** Receives deliveries in FRAMEWORK. */`);
    return [`\`${manifest.name}/${name}\``, frameworks];
  });
}

/** The operations: the method of the client with its parameters, and the summary. */
function operationRows(): string[][] {
  const file = "packages/issuing-client/src/client.ts";
  const client = ts.createSourceFile(file, readFromRoot(file), ts.ScriptTarget.Latest);
  const interfaces = client.statements.filter(ts.isInterfaceDeclaration);
  const methods = interfaces.flatMap(({ members }) => members.filter(ts.isMethodSignature));
  const operations = Object.values(openapi.paths).flatMap((path) => Object.values(path));
  return operations.map(({ operationId, summary }) => {
    const method = methods.find(({ name }) => name.getText(client) === operationId);
    const names = method?.parameters.map(
      ({ name, questionToken }) => name.getText(client) + (questionToken ? "?" : ""),
    );
    return [`\`${operationId}(${names?.join(", ")})\``, summary];
  });
}

/** Gets the path of the page, relative to the root, and what follows the name in its mark. */
type Part = (page: string, words: readonly string[]) => string | Promise<string>;

const parts: Readonly<Record<string, Part>> = {
  adapters: () => toTable(["entry point", "for deliveries in"], adapterRows()),
  benchmarks: renderBenchmarks,
  calls: async () => toTable(...(await createCallTable())),
  copy: () => renderCopy(),
  events: () => toTable(["event", "`data`: checked", "optional, of type `unknown`"], eventRows()),
  "exit-codes": () => toTable(["exit code", "meaning"], Object.entries(exitCodeDescriptions)),
  "first-command": (page) => updateSnippets(renderFirstCommand(page)),
  install: (page, names) => renderInstall(names, page),
  operations: () => toTable(["method", "what it does"], operationRows()),
  project: () => updateSnippets(renderProject()),
  "retryable-statuses": () => `${retryableStatuses.join(", ")} and 5xx`,
};

const marked = /(<!-- generated: ([\w-]+)(.*) -->\n?)[\s\S]*?(<!-- \/generated -->)/g;

/**
 * Returns the text of a page with its quoted code and generated parts as they follow from the
 * sources now.
 * @throws for an unknown part.
 */
export async function updatePage(page: string, text: string): Promise<string> {
  const rendered = new Map<string, string>(); // before `replace`, which does not wait
  for (const [, start = "", name = "", words = ""] of text.matchAll(marked)) {
    const render = parts[name];
    if (render === undefined) throw new Error(`tools/docs/pages.ts has no part "${name}".`);
    rendered.set(start, await render(page, words.trim().split(" ")));
  }
  return updateSnippets(text).replace(
    marked,
    (_whole, start: string, _name, _words, end: string) => start + rendered.get(start) + end,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of listPages()) {
    const before = readFromRoot(page);
    const after = await updatePage(page, before);
    if (after === before) continue;
    writeFileSync(join(root, page), after);
    console.log(`updated ${page}`);
  }
}
