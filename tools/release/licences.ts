/**
 * Prints the licence of all software that a package installs or contains. Fails on a licence that is not permissive, and
 * when THIRD-PARTY.md is stale; `--write` updates it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Published, published, root } from "../published.ts";

/** An expression such as "MIT OR GPL-2.0" is added here after somebody has read it. */
const permissive = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

interface Software {
  name: string;
  version: string;
  licence: string;
  folder: string;
}

/** Contained in a package without a source map that shows it: types and assets. */
const containedWithoutMap: Readonly<Record<string, readonly string[]>> = {
  "issuing-client": ["openapi-typescript-helpers"], // its types, in ours
  "mock-server": ["swagger-ui-dist"], // dist/reference
};
/** Notes beside the licence's text. */
const notes: Readonly<Record<string, string>> = {
  "libphonenumber-js":
    "It contains metadata of Google's libphonenumber, Copyright (c) The Libphonenumber Authors, Apache License 2.0: `dist/reference/LICENSE`.",
  "swagger-ui-dist":
    "Copyright 2020-2021 SmartBear Software Inc. The files of `dist/reference`, compressed and otherwise unchanged; beside them are the licence (`LICENSE`), the notice (`NOTICE`) and the licences of what is bundled in them (`swagger-ui-bundle.js.LICENSE.txt`).",
  tsup: "A few lines that stand for `import.meta.url` in CommonJS.",
};
/** Its licence is a file of the tarball. */
const hasLicenceFile = new Set(["swagger-ui-dist"]);

function findSoftware(name: string, from: string): Software {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) {
      const { version, license = "none" } = JSON.parse(readFileSync(join(found, "package.json"), "utf8"));
      return { name, version, licence: license, folder: found };
    }
    if (folder === dirname(folder)) throw new Error(`${name} is not installed: npm ci`);
  }
}

/** Everything that npm installs with it, except our own packages. */
function findDependencies(names: readonly string[], from: string, known = new Map<string, Software>()) {
  for (const name of names) {
    if (name.startsWith("@loyalty-cards/") || known.has(name)) continue;
    const found = findSoftware(name, from);
    known.set(name, found);
    const manifest = JSON.parse(readFileSync(join(found.folder, "package.json"), "utf8"));
    findDependencies(Object.keys(manifest.dependencies ?? {}), found.folder, known);
  }
  return known;
}

/** What the bundler put into the files, as their source maps show. */
export function findContained({ name, folder }: Published): Software[] {
  const names = new Set(containedWithoutMap[name]);
  const built = join(folder, "dist");
  if (!existsSync(built)) return []; // a package without code
  for (const file of readdirSync(built).filter((path) => path.endsWith(".map"))) {
    const { sources } = JSON.parse(readFileSync(join(folder, "dist", file), "utf8")) as { sources: string[] };
    for (const source of sources) {
      const other = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
      if (other !== undefined) names.add(other);
    }
  }
  return [...names].sort().map((other) => findSoftware(other, folder));
}

function readLicence({ name, folder }: Software): string {
  const file = readdirSync(folder).find((path) => /^licen[cs]e(\.\w+)?$/i.test(path));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  const lines = readFileSync(join(folder, file), "utf8").trim().split(/\r?\n/);
  return lines.map((line) => `> ${line}`.trimEnd()).join("\n");
}

function formatThirdParty(all: readonly Software[]): string {
  const parts = all.map((one) => {
    const text = hasLicenceFile.has(one.name) ? [] : [readLicence(one)];
    const note = notes[one.name];
    return [`## ${one.name} ${one.version}`, `${one.licence}.`, ...text, ...(note ? [note] : [])].join(
      "\n\n",
    );
  });
  const head =
    "# Third-party software\n\nThe published files of this package contain the following software.";
  return `${[head, ...parts].join("\n\n")}\n`;
}

let failures = 0;
function fail(sentence: string): void {
  failures += 1;
  console.log(`✗ ${sentence}`);
}

function check(one: Published): void {
  const contained = findContained(one);
  const installed = [...findDependencies(Object.keys(one.manifest.dependencies ?? {}), one.folder).values()];
  const named = [
    ...installed.map((other) => ({ ...other, how: "installed with it" })),
    ...contained.map((other) => ({ ...other, how: "contained in it" })),
  ];
  console.log(`${one.name} (${one.manifest.license})${named.length === 0 ? ": no other software" : ""}`);
  for (const { name, version, licence, how } of named) {
    console.log(`  ${licence.padEnd(12)} ${name} ${version}, ${how}`);
    if (!permissive.has(licence)) fail(`${name} has the licence ${licence}, which is not permissive`);
  }
  const file = join(one.folder, "THIRD-PARTY.md");
  const wanted = contained.length === 0 ? undefined : formatThirdParty(contained);
  const written = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  if (written === wanted) return;
  if (process.argv.includes("--write") && wanted !== undefined) writeFileSync(file, wanted);
  else if (wanted === undefined)
    fail(`packages/${one.name}/THIRD-PARTY.md lists software that is no longer contained`);
  else fail(`packages/${one.name}/THIRD-PARTY.md is stale: npm run release -- licences --write`);
}

/** Swagger UI's bundle contains other software, with a list of notices in prose: searched for the names of copyleft licences. */
function checkSwaggerUi(): void {
  const list = join(root, "packages/mock-server/dist/reference/swagger-ui-bundle.js.LICENSE.txt");
  const notices = readFileSync(list, "utf8").split("/*!").slice(1);
  console.log(`swagger-ui-bundle.js: ${notices.length} notices`);
  for (const notice of notices) {
    if (/\b(?:[AL]?GPL|SSPL|BUSL|GNU)\b/i.test(notice)) fail(`swagger-ui-bundle.js contains${notice}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const one of published) check(one);
  checkSwaggerUi();
  process.exitCode = failures === 0 ? 0 : 1;
}
