/** Generates types, JSON, validators, examples of events and the contract package from openapi.yaml, and the entry points in package.json. With `--from` it first updates openapi.yaml from a service. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { toExports, toTypesVersions } from "../release/build.ts";
import { adoptService } from "./adopt-service.ts";
import { isRecord, type Json, recordIn } from "./document.ts";
import { eventExamples, eventSchema, eventTable, operationTable } from "./tables.ts";
import { completeControl, controlValidators, requestValidators, withPlainUnions } from "./validators.ts";
import { createSignatures } from "./vectors.ts";
import { schemaTypes, wireTypes } from "./wire-types.ts";
import { changesBetween, formatChange, patchYaml } from "./yaml-patch.ts";

/**
 * Runs the command. Everything is generated in memory before the first file is written.
 *
 * `--from BASE_URL` prints the differences of openapi.yaml from the OpenAPI document that a service serves at
 * `BASE_URL/api/docs/json`, and brings openapi.yaml up to that document. `--check` writes nothing. `--vectors` also creates the
 * signature vectors anew, with openssl.
 *
 * @param folder of openapi.yaml. The contract package is beside it, in `packages/contract`. @param print is called with each line
 * @returns 0 when complete, 1 when `--check` found a difference or a stale file
 * @throws {Error} when an argument is invalid, or the service's document or the generation fails; every file is unchanged
 */
export async function generate(
  args: readonly string[],
  folder: string,
  print: (line: string) => void,
): Promise<0 | 1> {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: "string" }, check: { type: "boolean" }, vectors: { type: "boolean" } },
  });
  const before = await readFile(join(folder, "openapi.yaml"), "utf8");
  let yaml = before;
  let isUnmatched = false;
  if (values.from !== undefined) {
    const { document, unmatched } = adoptService(parse(before), await fetchDocument(values.from));
    yaml = patchYaml(before, document);
    const lines = [...changesBetween(parse(before), document)].flatMap(formatChange);
    for (const line of [...lines, ...unmatched]) print(line);
    if (yaml === before) print("No member of openapi.yaml differs from the service's document.");
    isUnmatched = unmatched.length > 0;
  }

  const files = await generateFiles(folder, yaml, values.vectors ?? false);
  const changed: [string, string][] = [];
  for (const [name, content] of Object.entries(files)) {
    const current = await readFile(join(folder, name), "utf8").catch(() => undefined);
    if (current !== content) changed.push([name, content]);
  }
  if (values.check) {
    if (yaml === before)
      for (const [name] of changed) print(`${posix.join("openapi", name)} is stale: run npm run generate.`);
    return changed.length === 0 && !isUnmatched ? 0 : 1;
  }
  for (const [name, content] of changed) {
    await writeFile(join(folder, name), content);
    print(`wrote ${posix.join("openapi", name)}`);
  }
  return 0;
}

/**
 * Fetches the document below the base URL of a service ([spec 4.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-6)).
 *
 * @param baseUrl the `baseUrl` of the client, without `/api/v1`
 * @throws {Error} when the service does not respond in time with an OpenAPI 3 document
 */
async function fetchDocument(baseUrl: string): Promise<Json> {
  const { protocol, username, password } = new URL(URL.canParse(baseUrl) ? baseUrl : "not:");
  if (!/^https?:$/.test(protocol)) throw new Error("--from is not a URL such as https://cards.example.com.");
  if (username !== "" || password !== "") throw new Error("--from contains a user name or a password.");

  const address = `${baseUrl.replace(/\/+$/, "")}/api/docs/json`;
  const response = await fetch(address, { signal: AbortSignal.timeout(10_000) }).catch((error) => {
    throw new Error(`${address} does not respond: ${(error.cause ?? error).message}.`);
  });
  if (!response.ok)
    throw new Error(
      `${address} responded ${response.status}. Is this the address of the service, without /api/v1?`,
    );
  const document: unknown = await response.json().catch(() => undefined); // not JSON, or cut
  if (!isRecord(document) || !/^3\./.test(String(document["openapi"])))
    throw new Error(`${address} is not an OpenAPI 3 document.`);
  return document;
}

/** The content of every file, by its name relative to the folder. @param isSigned whether the vectors are created anew. */
async function generateFiles(folder: string, yaml: string, isSigned: boolean) {
  const document: Json = parse(yaml);
  const controlYaml = await readFile(join(folder, "control.yaml"), "utf8");
  const control = completeControl(parse(controlYaml), document);
  const signatures = isSigned
    ? createSignatures(document)
    : JSON.parse(await readFile(join(folder, "vectors/signatures.json"), "utf8"));
  const json: Record<string, unknown> = {
    "generated/openapi.json": document,
    "vectors/signatures.json": signatures,
    "../packages/contract/openapi.json": document,
    "../packages/contract/signatures.json": signatures,
  };
  for (const type of Object.keys(recordIn(document, "webhooks")))
    json[`../packages/contract/events/${type}.json`] = eventSchema(document, type);
  // The package.json of each package with entry points: `typesVersions` follows from `exports`, and those of webhook-verify from its adapters.
  for (const name of await readdir(join(folder, "../packages"))) {
    const file = `../packages/${name}/package.json`;
    const manifest = JSON.parse(await readFile(join(folder, file), "utf8").catch(() => "{}"));
    if (name === "webhook-verify") {
      const adapters = await readdir(join(folder, "../packages", name, "src/adapters"));
      manifest.exports = toExports(["index.ts", ...adapters.sort().map((adapter) => `adapters/${adapter}`)]);
    }
    if (manifest.typesVersions !== undefined)
      json[file] = { ...manifest, typesVersions: toTypesVersions(manifest.exports) };
  }
  return {
    "openapi.yaml": yaml,
    "generated/schema.ts": await schemaTypes(document, "openapi.yaml"),
    "generated/types.ts": wireTypes(document),
    "generated/operations.ts": operationTable(document),
    "generated/events.ts": eventTable(document),
    "generated/event-examples.ts": eventExamples(document),
    "generated/validators.js": requestValidators(document),
    "generated/control.ts": await schemaTypes(withPlainUnions(control), "control.yaml", true),
    "generated/control-validators.js": controlValidators(control),
    ...Object.fromEntries(
      Object.entries(json).map(([name, value]) => [name, `${JSON.stringify(value, null, 2)}\n`]),
    ),
  };
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
