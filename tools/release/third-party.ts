/**
 * The software of others in the built files of a package: the text of its THIRD-PARTY.md. As a
 * command it writes each package's bill of materials into `sbom/`, with what npm installs.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Published, published } from "../packages.ts";
import { root, run } from "../run.ts";

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

/** What the bundler put into the built files, as their source maps show. npm does not know it. */
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

/** The text of THIRD-PARTY.md; undefined when the files contain nothing of others. */
export function renderThirdParty(one: Published): string | undefined {
  const sections = findContained(one).map((name) =>
    describe(name, readInstalled(name, one.folder)),
  );
  const sentence = "The published files of this package contain the following software.";
  if (sections.length === 0) return undefined;
  return `${["# Third-party software", sentence, ...sections].join("\n\n")}\n`;
}

interface Bill {
  components: { type: string; name: string; version: string; purl: string; licenses: object[] }[];
}

/** What npm installs with the package, in CycloneDX, and what its files contain. */
function createBill(one: Published): Bill {
  const omitted = ["dev", "optional", "peer"].flatMap((kind) => ["--omit", kind]);
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "library", ...omitted];
  const bill = JSON.parse(run("npm", [...args, "--workspace", one.manifest.name], root)) as Bill;
  for (const name of findContained(one)) {
    const { version, licence } = readInstalled(name, one.folder);
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    const licenses = [{ license: { id: licence } }];
    bill.components.push({ type: "library", name, version, purl, licenses });
  }
  return bill;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(join(root, "sbom"), { recursive: true });
  for (const one of published) {
    const file = `sbom/${one.name}.cdx.json`;
    const bill = createBill(one);
    writeFileSync(join(root, file), `${JSON.stringify(bill, null, 2)}\n`);
    console.log(`${file}: ${bill.components.length} components`);
  }
}
