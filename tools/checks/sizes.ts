/**
 * The sizes of the built packages, compared with the budgets in sizes.json: the tarball and the dependencies of each package, the
 * bundle of each entry point, the files and built-in modules that its first import loads, and the type instantiations of a program
 * that uses it. An increase beyond the tolerance fails. `--write` updates the budgets.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { published, root } from "../published.ts";
import { pack } from "../release/pack.ts";

type Figure = "tarball" | "bytes" | "files" | "built-in modules" | "dependencies" | "instantiations";
/** The figures by the name of what is measured, such as "import @loyalty-cards/issuing-client". */
export type Sizes = Record<string, Partial<Record<Figure, number>>>;

const tolerances: Partial<Record<Figure, number>> = { tarball: 0.02, bytes: 0.02, instantiations: 0.05 };

/** Programs that import one function get only what it needs. */
const functions: Readonly<Record<string, readonly string[]>> = {
  "@loyalty-cards/issuing-client/links": ["cardLinks"],
  "@loyalty-cards/webhook-verify": ["verifyWebhookSync", "verifyWebhook"],
};

/** @returns a line for each figure that increased beyond its tolerance, or is new. */
export function findIncreases(budgets: Sizes, measured: Sizes): string[] {
  return Object.entries(measured).flatMap(([subject, figures]) =>
    Object.entries(figures).flatMap(([name, is]) => {
      const figure = name as Figure;
      const was = budgets[subject]?.[figure];
      if (was !== undefined && is <= was * (1 + (tolerances[figure] ?? 0))) return [];
      return [`${subject}: ${figure} ${was ?? "not in tools/checks/sizes.json"} → ${is}`];
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

async function measureImport(load: string): Promise<Sizes[string]> {
  const args = ["--input-type=module", "--no-warnings", "--eval", createImportProgram(load)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  const figures = JSON.parse(stdout);
  // Other versions of Node split their modules differently.
  if (!process.version.startsWith("v20.")) delete figures["built-in modules"];
  return figures;
}

/** @param names `*`, or the imported functions: a bundler removes the rest. */
async function measureBundle(specifier: string, names = "*"): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export ${names} from ${JSON.stringify(specifier)}`, resolveDir: root },
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

async function measureSizes(): Promise<Sizes> {
  const sizes: Sizes = {};
  for (const { folder, manifest } of published) {
    const dependencies = Object.keys(manifest.dependencies ?? {}).length;
    sizes[manifest.name] = { dependencies, tarball: pack(folder).size };
    const entries = Object.entries(manifest.exports ?? {});
    for (const [path] of entries.filter(([, target]) => typeof target === "object")) {
      const specifier = manifest.name + path.slice(1);
      const [bytes, imported, required] = await Promise.all([
        measureBundle(specifier),
        measureImport(`import("${specifier}")`),
        measureImport(`require("${specifier}")`),
      ]);
      sizes[`${specifier}, minified and gzipped`] = { bytes };
      for (const name of functions[specifier] ?? [])
        sizes[`${name} of ${specifier}, minified and gzipped`] = {
          bytes: await measureBundle(specifier, `{ ${name} }`),
        };
      sizes[`import ${specifier}`] = imported;
      sizes[`require ${specifier}`] = required;
    }
  }
  const typesSubject = pathToFileURL(join(root, "benchmarks/subjects/types.mjs")).href;
  const { checkTypes, default: subject } = await import(typesSubject);
  for (const name of subject.own) {
    const program = `benchmarks/consumers/${name}.ts`;
    sizes[program] = { instantiations: checkTypes(join(root, program)).instantiations };
  }
  return sizes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = join(root, "tools/checks/sizes.json");
  const sizes = await measureSizes();
  if (process.argv.includes("--write")) {
    const lines = Object.entries(sizes).map(
      ([subject, figures]) => `  ${JSON.stringify(subject)}: ${JSON.stringify(figures)}`,
    );
    writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`);
  } else {
    const increases = findIncreases(JSON.parse(readFileSync(file, "utf8")), sizes);
    for (const increase of increases) console.log(`✗ ${increase}`);
    if (increases.length > 0) console.log("To accept this: npm run release -- sizes --write");
    process.exitCode = increases.length > 0 ? 1 : 0;
  }
}
