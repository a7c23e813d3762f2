/** Writes everything that derives from openapi.yaml: types, JSON, validators, examples; with `--from`, brings openapi.yaml up to a service first. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { compareContracts, type Drift } from "./drift.ts";
import { driftRules } from "./drift-rules.ts";
import { schemaTypes } from "./schema-types.ts";
import { fetchDocument, type Json, memberOf, recordIn } from "./served-document.ts";
import { contractValidators, requestValidators } from "./validators.ts";
import { patchYaml } from "./yaml-patch.ts";

export interface GenerateOptions {
  /** The folder of openapi.yaml. */
  folder: string;
  /** Called with each line of the report. */
  print: (line: string) => void;
}

/**
 * Runs the command. Files are written all together or not at all.
 *
 * `--from BASE_URL` compares openapi.yaml with the OpenAPI document that a service serves at `BASE_URL/api/docs/json`, prints
 * the differences and brings openapi.yaml up to that document; local documentation, examples and webhooks are kept.
 * `--check` writes nothing.
 *
 * @returns 0 when complete, 1 when `--check` found a difference or a stale file
 * @throws {Error} when the arguments cannot be used, or nothing could be compared or generated; every file is as it was
 */
export async function generate(args: readonly string[], { folder, print }: GenerateOptions): Promise<0 | 1> {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: "string" }, check: { type: "boolean" } },
  });
  const before = await readFile(join(folder, "openapi.yaml"), "utf8");
  let yaml = before;
  if (values.from !== undefined) {
    const drift = compareContracts(parse(before), await fetchDocument(values.from));
    yaml = patchYaml(before, drift.contract);
    for (const line of reportLines(drift)) print(line);
  }

  const files = { "openapi.yaml": yaml, ...(await generatedFiles(yaml)) };
  const changed: [string, string][] = [];
  for (const [name, content] of Object.entries(files)) {
    const current = await readFile(join(folder, name), "utf8").catch(() => undefined);
    if (current !== content) changed.push([name, content]);
  }
  if (values.check) {
    const isDrift = yaml !== before;
    if (!isDrift) for (const [name] of changed) print(`openapi/${name} is stale: run npm run generate.`);
    return changed.length === 0 ? 0 : 1;
  }
  await writeTogether(folder, changed);
  for (const [name] of changed) print(`wrote openapi/${name}`);
  return 0;
}

/** One line for each difference, breaking ones first, then the notes and the sum. */
function* reportLines({ differences, notes }: Drift): Generator<string> {
  const breaking = differences.filter(({ severity }) => severity === "breaking");
  const compatible = differences.filter(({ severity }) => severity === "compatible");
  for (const { severity, rule, place, detail, operations } of [...breaking, ...compatible]) {
    yield `${severity.padEnd(11)} ${place}: ${detail} (${operations.join(", ")})`;
    yield `${" ".repeat(11)} ${rule}: ${driftRules[rule].reason}`;
  }
  for (const note of notes) yield `${"note".padEnd(11)} ${note}`;
  yield differences.length === 0
    ? "The contract has not changed."
    : `${differences.length} difference${differences.length === 1 ? "" : "s"}: ${breaking.length} breaking, ${compatible.length} compatible.`;
}

async function generatedFiles(yaml: string): Promise<Record<string, string>> {
  const document = parse(yaml) as Json;
  const examples = Object.entries(recordIn(recordIn(document, "components"), "examples"));
  return {
    "schema.ts": await schemaTypes(yaml),
    "openapi.json": asJson(document),
    "validators.js": requestValidators(document),
    "contract.js": contractValidators(document),
    ...Object.fromEntries(
      examples.map(([name, example]) => [`examples/${kebab(name)}.json`, asJson(memberOf(example, "value"))]),
    ),
  };
}

const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const kebab = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();

/**
 * Writes all files, or none: the new files are complete in a temporary folder before the first one is renamed, and a rename
 * that fails takes back those before it.
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

/** Without a pause, so that nothing comes between two files. */
function renameTogether(
  renames: readonly { target: string; next: string; previous: string; isNew: boolean }[],
) {
  const takeBack: (() => void)[] = [];
  try {
    for (const { target, next, previous, isNew } of renames) {
      renameSync(next, target);
      takeBack.unshift(() => (isNew ? rmSync(target) : renameSync(previous, target)));
    }
  } catch (error) {
    for (const step of takeBack) step();
    throw error;
  }
}
