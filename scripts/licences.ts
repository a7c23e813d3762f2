/**
 * Names the licence of everything that somebody receives who installs a package: what it depends on and what is inside its
 * files. Fails on one that is not permissive, and when THIRD-PARTY.md is stale; `--write` brings that up to date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isPermissive } from "./permissive.ts";
import { type Published, published, root } from "./published.ts";

interface Software {
  name: string;
  version: string;
  licence: string;
  folder: string;
}

/** Inside a package, though no source map of it tells: types have none, and assets neither. */
const insideBesides: Readonly<Record<string, readonly string[]>> = {
  "issuing-client": ["@standard-schema/spec", "openapi-typescript-helpers"], // their types, in ours
  "mock-server": ["swagger-ui-dist"], // dist/reference
};
/** Where a licence's text is a file of the tarball already, or needs a word more than the text. */
const remarks: Readonly<Record<string, string>> = {
  "libphonenumber-js":
    "It contains metadata of Google's libphonenumber, Copyright (c) The Libphonenumber Authors, Apache License 2.0: `dist/reference/LICENSE`.",
  "swagger-ui-dist":
    "Copyright 2020-2021 SmartBear Software Inc. The files of `dist/reference`, compressed and otherwise unchanged; beside them are the licence (`LICENSE`), the notice (`NOTICE`) and the licences of what is bundled in them (`swagger-ui-bundle.js.LICENSE.txt`).",
  tsup: "A few lines that stand for `import.meta.url` in CommonJS.",
};
const hasItsOwnFiles = new Set(["swagger-ui-dist"]);

function software(name: string, from: string): Software {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) {
      const { version, license = "none" } = JSON.parse(readFileSync(join(found, "package.json"), "utf8"));
      return { name, version, licence: license, folder: found };
    }
    if (folder === dirname(folder)) throw new Error(`${name} is not installed: npm ci`);
  }
}

/** What npm installs with it, to the last; our own packages are looked at by themselves. */
function dependencies(names: readonly string[], from: string, known = new Map<string, Software>()) {
  for (const name of names) {
    if (name.startsWith("@loyalty-cards/") || known.has(name)) continue;
    const found = software(name, from);
    known.set(name, found);
    const manifest = JSON.parse(readFileSync(join(found.folder, "package.json"), "utf8"));
    dependencies(Object.keys(manifest.dependencies ?? {}), found.folder, known);
  }
  return known;
}

/** What the bundler put into the files: each source map tells where every line is from. */
export function inside({ name, folder }: Published): Software[] {
  const names = new Set(insideBesides[name]);
  for (const file of readdirSync(join(folder, "dist")).filter((path) => path.endsWith(".map"))) {
    const { sources } = JSON.parse(readFileSync(join(folder, "dist", file), "utf8")) as { sources: string[] };
    for (const source of sources) {
      const other = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
      if (other !== undefined) names.add(other);
    }
  }
  return [...names].sort().map((other) => software(other, folder));
}

function licenceText({ name, folder }: Software): string {
  const file = readdirSync(folder).find((path) => /^licen[cs]e(\.\w+)?$/i.test(path));
  if (file === undefined) throw new Error(`${name} comes without the text of its licence`);
  const lines = readFileSync(join(folder, file), "utf8").trim().split(/\r?\n/);
  return lines.map((line) => `> ${line}`.trimEnd()).join("\n");
}

function thirdParty(all: readonly Software[]): string {
  const parts = all.map((one) => {
    const text = hasItsOwnFiles.has(one.name) ? [] : [licenceText(one)];
    const remark = remarks[one.name];
    return [`## ${one.name} ${one.version}`, `${one.licence}.`, ...text, ...(remark ? [remark] : [])].join(
      "\n\n",
    );
  });
  const head =
    "# Third-party software\n\nThe published files of this package contain the following software.";
  return `${[head, ...parts].join("\n\n")}\n`;
}

let faults = 0;
function fault(sentence: string): void {
  faults += 1;
  console.log(`✗ ${sentence}`);
}

function look(one: Published): void {
  const within = inside(one);
  const installed = [...dependencies(Object.keys(one.manifest.dependencies ?? {}), one.folder).values()];
  const named = [
    ...installed.map((other) => ({ ...other, how: "installed with it" })),
    ...within.map((other) => ({ ...other, how: "inside it" })),
  ];
  console.log(`${one.name} (${one.manifest.license})${named.length === 0 ? ": nothing of others" : ""}`);
  for (const { name, version, licence, how } of named) {
    console.log(`  ${licence.padEnd(12)} ${name} ${version}, ${how}`);
    if (!isPermissive(licence)) fault(`${name} has the licence ${licence}, which is not permissive`);
  }
  const file = join(one.folder, "THIRD-PARTY.md");
  const wanted = within.length === 0 ? undefined : thirdParty(within);
  const written = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  if (written === wanted) return;
  if (process.argv.includes("--write") && wanted !== undefined) writeFileSync(file, wanted);
  else if (wanted === undefined) fault(`packages/${one.name}/THIRD-PARTY.md names what is no longer inside`);
  else fault(`packages/${one.name}/THIRD-PARTY.md is stale: npm run licences -- --write`);
}

/** Swagger UI's bundle has contents of its own, of which its makers keep a list of notices: prose, so copyleft is looked for by name. */
function lookIntoReference(): void {
  const list = join(root, "packages/mock-server/dist/reference/swagger-ui-bundle.js.LICENSE.txt");
  const notices = readFileSync(list, "utf8").split("/*!").slice(1);
  console.log(`swagger-ui-bundle.js: ${notices.length} notices`);
  for (const notice of notices) {
    if (/\b(?:[AL]?GPL|SSPL|BUSL|GNU)\b/i.test(notice)) fault(`swagger-ui-bundle.js contains${notice}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const one of published) look(one);
  lookIntoReference();
  process.exitCode = faults === 0 ? 0 : 1;
}
