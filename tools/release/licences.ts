/**
 * Writes each package's bill of materials into `sbom/`: what npm installs with it, and what its
 * files contain. Fails on a licence that is not permissive, and when a THIRD-PARTY.md is stale;
 * `--write` updates it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Published, published, root, run } from "../published.ts";

/** An expression such as "MIT OR GPL-2.0" is added here after somebody has read it. */
const permissive =
  /^(0BSD|Apache-2\.0|BlueOak-1\.0\.0|BSD-[23]-Clause|CC0-1\.0|ISC|MIT|Unlicense)$/;

/** Contained in a package without a source map that shows it: types and assets. */
const containedWithoutMap: Readonly<Record<string, readonly string[]>> = {
  "issuing-client": ["openapi-typescript-helpers"], // their types, in ours
  "mock-server": ["preact", "swagger-ui-dist"], // in the console's script; dist/reference
};

/** Notes beside the licence's text. */
const notes: Readonly<Record<string, string>> = {
  "libphonenumber-js":
    "It contains metadata of Google's libphonenumber, Copyright (c) The Libphonenumber Authors, Apache License 2.0: `dist/reference/LICENSE`.",
  "swagger-ui-dist":
    "Copyright 2020-2021 SmartBear Software Inc. The files of `dist/reference`, compressed and otherwise unchanged; beside them are the licence (`LICENSE`), the notice (`NOTICE`) and the licences of what is bundled in them (`swagger-ui-bundle.js.LICENSE.txt`).",
  tsup: "A few lines that stand for `import.meta.url` in CommonJS.",
};

interface Bill {
  components: { type: string; name: string; version: string; purl: string; licenses?: object[] }[];
}

function createBill({ manifest }: Published): Bill {
  const omitted = ["dev", "optional", "peer"].flatMap((kind) => ["--omit", kind]);
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "library", ...omitted];
  return JSON.parse(run("npm", [...args, "--workspace", manifest.name], root));
}

/** What the bundler put into the files, as their source maps show. npm does not know it. */
function findContained({ name, folder }: Published): string[] {
  const names = new Set(containedWithoutMap[name]);
  const built = join(folder, "dist");
  if (!existsSync(built)) return []; // a package without code
  for (const file of readdirSync(built).filter((path) => path.endsWith(".map"))) {
    const { sources } = JSON.parse(readFileSync(join(built, file), "utf8")) as {
      sources: string[];
    };
    for (const source of sources) {
      const other = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
      if (other !== undefined) names.add(other);
    }
  }
  return [...names].sort();
}

/** Finds an installed package from the folder of another one. */
function readInstalled(name: string, from: string) {
  const folder = createRequire(join(from, "package.json"))
    .resolve.paths(name)
    ?.map((path) => join(path, name))
    .find((path) => existsSync(join(path, "package.json")));
  if (folder === undefined) throw new Error(`${name} is not installed: npm ci`);
  const { version, license = "none" } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  return { folder, version: String(version), licence: String(license) };
}

/** The section of THIRD-PARTY.md. */
function describe(
  name: string,
  { folder, version, licence }: ReturnType<typeof readInstalled>,
): string {
  const file = readdirSync(folder).find((path) => /^licen[cs]e(\.\w+)?$/i.test(path));
  const lines =
    file === undefined ? [] : readFileSync(join(folder, file), "utf8").trim().split(/\r?\n/);
  const quotation = lines.map((line) => `> ${line}`.trimEnd()).join("\n");
  const isQuoted = name !== "swagger-ui-dist"; // its licence is a file of the tarball
  const parts = [`## ${name} ${version}`, `${licence}.`, isQuoted && quotation, notes[name]];
  return parts.filter(Boolean).join("\n\n");
}

function check(one: Published): string[] {
  const bill = createBill(one);
  const sections: string[] = [];
  for (const name of findContained(one)) {
    const found = readInstalled(name, one.folder);
    const purl = `pkg:npm/${name.replace("@", "%40")}@${found.version}`;
    const licenses = [{ license: { id: found.licence } }];
    bill.components.push({ type: "library", name, version: found.version, purl, licenses });
    sections.push(describe(name, found));
  }
  writeFileSync(join(root, "sbom", `${one.name}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`sbom/${one.name}.cdx.json: ${bill.components.length} components`);
  const problems = bill.components
    .filter(({ licenses = [] }) => {
      const ids = licenses.map(
        (one) => /"(?:id|expression|name)":"([^"]+)"/.exec(JSON.stringify(one))?.[1],
      );
      return ids.length === 0 || ids.some((id = "") => !permissive.test(id));
    })
    .map(({ name, licenses }) => `${name} has the licence ${JSON.stringify(licenses)}`);

  const file = join(one.folder, "THIRD-PARTY.md");
  const head =
    "# Third-party software\n\nThe published files of this package contain the following software.";
  const wanted = sections.length === 0 ? "" : `${[head, ...sections].join("\n\n")}\n`;
  if (process.argv.includes("--write") && wanted !== "") writeFileSync(file, wanted);
  if ((existsSync(file) ? readFileSync(file, "utf8") : "") !== wanted)
    problems.push("THIRD-PARTY.md is stale: npm run release:licences -- --write");
  return problems.map((problem) => `✗ ${one.name}: ${problem}`);
}

mkdirSync(join(root, "sbom"), { recursive: true });
const problems = published.flatMap(check);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
