/**
 * Generates types, JSON, validators and examples of events from openapi.yaml, and the entry points
 * in package.json. With `--from` it stores the document of a service, and names how it differs from
 * openapi.yaml.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { toExports, toTypesVersions } from "../release/build.ts";
import type { Json } from "./document.ts";
import { schemaTypes } from "./schema-types.ts";
import { fetchDocument } from "./service-document.ts";
import { findDifferences, listUndescribedEvents, serviceTypes } from "./service-types.ts";
import { eventExamples, eventTable, operationTable } from "./tables.ts";
import {
  completeControl,
  controlValidators,
  requestValidators,
  withPlainUnions,
} from "./validators.ts";
import { createSignatures } from "./vectors.ts";
import { wireTypes } from "./wire-types.ts";

/** The content of files, by their names relative to the folder of openapi.yaml. */
type Files = Readonly<Record<string, string>>;

/**
 * Runs the command. Everything is generated in memory before the first file is written.
 *
 * `--from BASE_URL` stores the document that a service serves at `BASE_URL/api/docs/json`, which
 * types `client.api`, and prints how it differs from openapi.yaml. `--check` writes nothing.
 * `--vectors` also creates the signature vectors anew, with openssl.
 *
 * @param folder of openapi.yaml. The packages are beside it, in `packages`.
 * @param print is called with each line
 * @returns 0 when complete, 1 when `--check` found a difference or a stale file
 * @throws {Error} when an argument is invalid, or the service's document or the generation fails;
 * every file is unchanged
 */
export async function generate(
  args: readonly string[],
  folder: string,
  print: (line: string) => void,
): Promise<0 | 1> {
  const { from, check, vectors } = parseArgs({
    args: [...args],
    options: { from: { type: "string" }, check: { type: "boolean" }, vectors: { type: "boolean" } },
  }).values;
  const document: Json = parse(await readFile(join(folder, "openapi.yaml"), "utf8"));

  if (from !== undefined) {
    const served = await fetchDocument(from);
    const files = await serviceFiles(served);
    const differences = findDifferences(folder, files);
    for (const line of describeService(differences, listUndescribedEvents(document, served)))
      print(line);
    if (check) return differences.length === 0 ? 0 : 1;
    await writeFiles(folder, files, print);
    return 0;
  }

  const files = {
    ...(await documentFiles(document)),
    ...(await serviceFiles(await readStored(folder))),
    ...(await controlFiles(folder, document)),
    ...(vectors && { "vectors/signatures.json": toText(createSignatures(document)) }),
    ...(await manifestFiles(folder)),
  };
  if (!check) {
    await writeFiles(folder, files, print);
    return 0;
  }
  const stale = await listStale(folder, files);
  for (const name of stale) print(`${toPath(name)} is stale: run npm run generate.`);
  return stale.length === 0 ? 0 : 1;
}

const toPath = (name: string) => posix.join("openapi", name);

/** The names of the files whose content on the disk is another one. */
async function listStale(folder: string, files: Files): Promise<string[]> {
  const stale: string[] = [];
  for (const [name, content] of Object.entries(files)) {
    const current = await readFile(join(folder, name), "utf8").catch(() => undefined);
    if (current !== content) stale.push(name);
  }
  return stale;
}

/** Writes the files that are stale. */
async function writeFiles(
  folder: string,
  files: Files,
  print: (line: string) => void,
): Promise<void> {
  for (const name of await listStale(folder, files)) {
    await writeFile(join(folder, name), files[name] ?? "");
    print(`wrote ${toPath(name)}`);
  }
}

function describeService(differences: string[], undescribed: string[]): string[] {
  const lines = [...differences];
  if (undescribed.length > 0)
    lines.push(`The service's document does not describe the events ${undescribed.join(", ")}.`);
  if (differences.length === 0) lines.push("The service's document agrees with openapi.yaml.");
  else lines.push("The service's document differs from openapi.yaml: see above.");
  return lines;
}

const service = "service.json";

/** The service's document that `--from` stored before. */
async function readStored(folder: string): Promise<Json | undefined> {
  const text = await readFile(join(folder, service), "utf8").catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

const toText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

const documentFiles = async (document: Json): Promise<Files> => ({
  "generated/openapi.json": toText(document),
  "generated/schema.ts": await schemaTypes(document, "openapi.yaml"),
  "generated/types.ts": await wireTypes(document),
  "generated/operations.ts": operationTable(document),
  "generated/events.ts": eventTable(document),
  "generated/event-examples.ts": eventExamples(document),
  "generated/validators.js": requestValidators(document),
});

const serviceFiles = async (served: Json | undefined): Promise<Files> => ({
  ...(served !== undefined && { [service]: toText(served) }),
  "generated/service.ts": await serviceTypes(served),
});

async function controlFiles(folder: string, document: Json): Promise<Files> {
  const yaml = await readFile(join(folder, "control.yaml"), "utf8");
  const control = completeControl(parse(yaml), document);
  return {
    "generated/control.ts": await schemaTypes(withPlainUnions(control), "control.yaml", {
      immutable: true,
    }),
    "generated/control-validators.js": controlValidators(control),
  };
}

/**
 * The package.json of each package with entry points: `typesVersions` follows from `exports`, and
 * those of webhook-verify from its adapters.
 */
async function manifestFiles(folder: string): Promise<Files> {
  const files: Record<string, string> = {};
  for (const name of await readdir(join(folder, "../packages"))) {
    const file = `../packages/${name}/package.json`;
    const manifest = JSON.parse(await readFile(join(folder, file), "utf8").catch(() => "{}"));
    if (name === "webhook-verify") {
      const adapters = await readdir(join(folder, "../packages", name, "src/adapters"));
      const sources = adapters.sort().map((adapter) => `adapters/${adapter}`);
      manifest.exports = toExports(["index.ts", ...sources]);
    }
    if (manifest.typesVersions === undefined) continue;
    files[file] = toText({ ...manifest, typesVersions: toTypesVersions(manifest.exports) });
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("../../openapi/", import.meta.url));
  try {
    process.exitCode = await generate(process.argv.slice(2), folder, console.log);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  }
}
