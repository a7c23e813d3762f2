/** Writes everything that derives from openapi.yaml: types, JSON, validators, examples. */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { pull } from "./pull.ts";
import { schemaTypes } from "./schema-types.ts";
import { contractValidators, requestValidators } from "./validators.ts";

const home = new URL("../", import.meta.url);
const snapshot = new URL("openapi.yaml", home);

type Generated = Readonly<Record<string, string>>;

async function generated(yaml: string): Promise<Generated> {
  const document = parse(yaml);
  const examples = Object.entries(document.components.examples as Record<string, { value: unknown }>);
  return {
    "schema.ts": await schemaTypes(yaml),
    "openapi.json": asJson(document),
    "validators.js": requestValidators(document),
    "contract.js": contractValidators(document),
    ...Object.fromEntries(
      examples.map(([name, { value }]) => [`examples/${kebab(name)}.json`, asJson(value)]),
    ),
  };
}

const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const kebab = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { from: { type: "string" }, check: { type: "boolean" } } });
  if (values.from !== undefined && values.check) throw new TypeError("Give --from or --check, not both.");

  if (values.from !== undefined) {
    const { yaml, changes } = await pull(values.from, await readFile(snapshot, "utf8"));
    for (const change of changes) console.log(change);
    console.log(changes.length === 0 ? "The contract has not changed." : `${changes.length} changes.`);
    await writeFile(snapshot, yaml);
  }

  const files = await generated(await readFile(snapshot, "utf8"));
  const stale: string[] = [];
  for (const [name, content] of Object.entries(files)) {
    const before = await readFile(new URL(name, home), "utf8").catch(() => undefined);
    if (before !== content) stale.push(name);
  }
  if (values.check) {
    for (const name of stale) console.error(`openapi/${name} is stale: run npm run generate.`);
    return stale.length === 0 ? 0 : 1;
  }
  for (const name of stale) {
    await writeFile(new URL(name, home), files[name] ?? "");
    console.log(`wrote openapi/${name}`);
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
