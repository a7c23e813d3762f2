/**
 * Measures what the built packages cost on every machine, and compares it with tools/checks/costs.json: the bundle of each entry
 * point, the files and built-in modules that its first import loads, the dependencies of each package, and the type instantiations
 * of a program that uses it. An increase beyond the tolerance fails. `--write` updates the file.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { published, root } from "../published.ts";

type Figure = "bytes" | "files" | "built-in modules" | "dependencies" | "instantiations";
/** By what is measured, such as "import @loyalty-cards/issuing-client". */
export type Costs = Record<string, Partial<Record<Figure, number>>>;

const tolerances: Partial<Record<Figure, number>> = { bytes: 0.02, instantiations: 0.05 };

/** @returns a line for each figure that increased beyond its tolerance, or is new. */
export function findIncreases(expected: Costs, measured: Costs): string[] {
  return Object.entries(measured).flatMap(([subject, figures]) =>
    Object.entries(figures).flatMap(([name, is]) => {
      const figure = name as Figure;
      const was = expected[subject]?.[figure];
      if (was !== undefined && is <= was * (1 + (tolerances[figure] ?? 0))) return [];
      return [`${subject}: ${figure} ${was ?? "not in tools/checks/costs.json"} → ${is}`];
    }),
  );
}

/** Runs in a fresh process, where the inspector reports every script that is parsed, ESM and CommonJS. */
const createImportProgram = (load: string) => `
import { Session } from "node:inspector";
import { createRequire, isBuiltin } from "node:module";
const require = createRequire(process.cwd() + "/");
const session = new Session();
session.connect();
session.post("Debugger.enable");
const scripts = [];
session.on("Debugger.scriptParsed", ({ params }) => scripts.push(params));
const before = new Set(process.moduleLoadList);
await ${load};
const loaded = process.moduleLoadList.filter((name) => !before.has(name));
const own = scripts.filter(({ url }) => url.includes("/packages/"));
console.log(JSON.stringify({
  files: own.length,
  bytes: own.reduce((sum, { length }) => sum + length, 0),
  // "NativeModule internal/…" is not public.
  "built-in modules": loaded.filter((name) => isBuiltin(name.replace("NativeModule ", ""))).length,
}));`;

async function measureImport(load: string): Promise<Costs[string]> {
  const args = ["--input-type=module", "--no-warnings", "--eval", createImportProgram(load)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  const figures = JSON.parse(stdout);
  // Other versions of Node split their modules differently.
  if (!process.version.startsWith("v20.")) delete figures["built-in modules"];
  return figures;
}

async function measureBundle(specifier: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(specifier)}`, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    external: ["msw"], // a peer
    logLevel: "error",
  });
  return gzipSync(outputFiles[0]?.contents ?? "").length;
}

async function measureCosts(): Promise<Costs> {
  const costs: Costs = {};
  for (const { manifest } of published) {
    costs[manifest.name] = { dependencies: Object.keys(manifest.dependencies ?? {}).length };
    const entries = Object.entries(manifest.exports ?? {});
    for (const [path] of entries.filter(([, target]) => typeof target === "object")) {
      const specifier = manifest.name + path.slice(1);
      const [bytes, imported, required] = await Promise.all([
        measureBundle(specifier),
        measureImport(`import("${specifier}")`),
        measureImport(`require("${specifier}")`),
      ]);
      costs[`${specifier}, minified and gzipped`] = { bytes };
      costs[`import ${specifier}`] = imported;
      costs[`require ${specifier}`] = required;
    }
  }
  const typesSubject = pathToFileURL(join(root, "benchmarks/subjects/types.mjs")).href;
  const { checkTypes, default: subject } = await import(typesSubject);
  for (const name of subject.own) {
    const program = `benchmarks/consumers/${name}.ts`;
    costs[program] = { instantiations: checkTypes(join(root, program)).instantiations };
  }
  return costs;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = join(root, "tools/checks/costs.json");
  const costs = await measureCosts();
  if (process.argv.includes("--write")) {
    const lines = Object.entries(costs).map(
      ([subject, figures]) => `  ${JSON.stringify(subject)}: ${JSON.stringify(figures)}`,
    );
    writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`);
  } else {
    const increases = findIncreases(JSON.parse(readFileSync(file, "utf8")), costs);
    for (const increase of increases) console.log(`✗ ${increase}`);
    if (increases.length > 0) console.log("To accept this: npm run release -- costs --write");
    process.exitCode = increases.length > 0 ? 1 : 0;
  }
}
