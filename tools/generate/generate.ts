/** Generates types, JSON, validators, examples and the contract package from openapi.yaml, and typesVersions from exports. With `--from` it first updates openapi.yaml from a service. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import {
  getProperty,
  type Json,
  recordIn,
  UnusableDocumentError,
} from "../../packages/cli/src/drift/document.ts";
import { fetchDocument } from "../../packages/cli/src/drift/document-reader.ts";
import { compareContracts, formatDrift } from "../../packages/cli/src/drift/drift.ts";
import { toTypesVersions } from "../release/build.ts";
import { contractFiles } from "./contract.ts";
import { createVectors, type Vector } from "./vectors.ts";
import { patchYaml } from "./yaml-patch.ts";

export interface GenerateOptions {
  /** The folder of openapi.yaml. The contract package is beside it, in `packages/contract`. */
  folder: string;
  /** Called with each line of the report. */
  print: (line: string) => void;
}

/**
 * Runs the command. All files are written, or none.
 *
 * `--from BASE_URL` compares openapi.yaml with the OpenAPI document that a service serves at `BASE_URL/api/docs/json`, prints
 * the differences and brings openapi.yaml up to that document; local documentation, examples and webhooks are kept.
 * `--check` writes nothing. `--vectors` also creates the signature vectors anew, with openssl.
 *
 * @returns 0 when complete, 1 when `--check` found a difference or a stale file
 * @throws {Error} when an argument is invalid, or the comparison or the generation fails; every file is unchanged
 */
export async function generate(args: readonly string[], { folder, print }: GenerateOptions): Promise<0 | 1> {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: "string" }, check: { type: "boolean" }, vectors: { type: "boolean" } },
  });
  const before = await readFile(join(folder, "openapi.yaml"), "utf8");
  let yaml = before;
  if (values.from !== undefined) {
    const drift = compareContracts(parse(before), await fetchDocument(values.from));
    for (const line of formatDrift(drift)) print(line);
    if (Object.keys(recordIn(drift.contract, "webhooks")).length === 0)
      throw new UnusableDocumentError(
        "The service's document has none of the events, and openapi.yaml needs one.",
      );
    yaml = patchYaml(before, drift.contract);
  }

  const vectors = values.vectors
    ? `${JSON.stringify(createVectors(parse(yaml)), null, 1)}\n`
    : await readFile(join(folder, "vectors/signatures.json"), "utf8");
  const files = {
    "openapi.yaml": yaml,
    "vectors/signatures.json": vectors,
    ...(await manifests(folder)),
    ...(await generatedFiles({
      yaml,
      controlYaml: await readFile(join(folder, "control.yaml"), "utf8"),
      vectors: JSON.parse(vectors),
    })),
  };
  const changed: [string, string][] = [];
  for (const [name, content] of Object.entries(files)) {
    const current = await readFile(join(folder, name), "utf8").catch(() => undefined);
    if (current !== content) changed.push([name, content]);
  }
  if (values.check) {
    const isDrift = yaml !== before;
    if (!isDrift) for (const [name] of changed) print(`${toPath(name)} is stale: run npm run generate.`);
    return changed.length === 0 ? 0 : 1;
  }
  await writeTogether(folder, changed);
  for (const [name] of changed) print(`wrote ${toPath(name)}`);
  return 0;
}

/** A name in the folder, as a path in the repository. */
const toPath = (name: string) => posix.join("openapi", name);

interface Sources {
  yaml: string;
  controlYaml: string;
  vectors: readonly Vector[];
}

async function generatedFiles({ yaml, controlYaml, vectors }: Sources): Promise<Record<string, string>> {
  // They load TypeScript and a compiler of schemas, which a document that was refused does not need.
  const { schemaTypes } = await import("./schema-types.ts");
  const { eventExamples, eventTable, operationTable, wireTypes } = await import("./wire-types.ts");
  const { completeControlDocument, controlValidators, requestValidators } = await import("./validators.ts");
  const document = parse(yaml) as Json;
  const control = completeControlDocument(parse(controlYaml) as Json, document);
  const examples = Object.entries(recordIn(recordIn(document, "components"), "examples"));
  return {
    "generated/schema.ts": await schemaTypes(yaml),
    "generated/types.ts": await wireTypes(document),
    "generated/operations.ts": operationTable(document),
    "generated/events.ts": eventTable(document),
    "generated/event-examples.ts": eventExamples(document),
    "generated/openapi.json": asJson(document),
    "generated/validators.js": requestValidators(document),
    "generated/control.ts": await schemaTypes(withPlainUnions(control) as never, "control.yaml", true),
    "generated/control-validators.js": controlValidators(control),
    ...Object.fromEntries(
      examples.map(([name, example]) => [
        `generated/examples/${kebab(name)}.json`,
        asJson(getProperty(example, "value")),
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(contractFiles(document, vectors)).map(([name, content]) => [
        `../packages/contract/${name}`,
        content,
      ]),
    ),
  };
}

/** The package.json of each package with entry points: `typesVersions` follows from `exports`. */
async function manifests(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const name of await readdir(join(folder, "../packages"))) {
    const file = `../packages/${name}/package.json`;
    const manifest = JSON.parse(await readFile(join(folder, file), "utf8").catch(() => "{}"));
    if (manifest.typesVersions === undefined) continue;
    files[file] = asJson({ ...manifest, typesVersions: toTypesVersions(manifest.exports) });
  }
  return files;
}

/** Removes the keywords next to `oneOf` that only a validator needs to select the branch: a type is the union of its branches. */
function withPlainUnions(control: Json): Json {
  const plain = structuredClone(control);
  for (const schema of Object.values(recordIn(recordIn(plain, "components"), "schemas")) as Record<
    string,
    unknown
  >[]) {
    if (schema["oneOf"] !== undefined)
      for (const name of ["type", "required", "properties", "discriminator"]) delete schema[name];
  }
  return plain;
}

const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const kebab = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();

/**
 * Writes all files or none: the new files are complete in a temporary folder before the first one is renamed, and when a
 * rename fails, the previous renames are undone.
 */
async function writeTogether(
  folder: string,
  files: readonly [name: string, content: string][],
): Promise<void> {
  if (files.length === 0) return;
  const temporary = await mkdtemp(join(folder, ".generate-"));
  try {
    const renames: { target: string; next: string; previous: string; isNew: boolean }[] = [];
    for (const [index, [name, content]] of files.entries()) {
      const target = join(folder, name);
      const [next, previous] = [join(temporary, `${index}.next`), join(temporary, `${index}.previous`)];
      await mkdir(dirname(target), { recursive: true });
      await writeFile(next, content);
      const isNew = !existsSync(target);
      if (!isNew) await copyFile(target, previous);
      renames.push({ target, next, previous, isNew });
    }
    renameTogether(renames);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Renames synchronously, so that no other code of this process runs between two files. */
function renameTogether(
  renames: readonly { target: string; next: string; previous: string; isNew: boolean }[],
) {
  const undo: (() => void)[] = [];
  try {
    for (const { target, next, previous, isNew } of renames) {
      renameSync(next, target);
      undo.unshift(() => (isNew ? rmSync(target) : renameSync(previous, target)));
    }
  } catch (error) {
    for (const step of undo) step();
    throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("../../openapi/", import.meta.url));
  try {
    process.exitCode = await generate(process.argv.slice(2), { folder, print: console.log });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error} Nothing was changed.`);
    process.exitCode = 2;
  }
}
