/**
 * What the builds of all packages share: entry points from package.json, the check of the Node.js
 * version, and source maps.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, relative, resolve } from "node:path";
import type { Options } from "tsup";
import root from "../../package.json" with { type: "json" };

/** `20.19`. Every package has it in `engines`, and the pages name it. */
export const minimumNode = root.engines.node.replace(">=", "");

const [minimumMajor, minimumMinor] = minimumNode.split(".");

/**
 * For tsup's `banner`. In every file, because the files that an ES module imports run before it.
 * Other runtimes pass.
 */
const nodeVersionBanner = (name: string) => ({
  js: `{
  const { node, bun, deno } = globalThis.process?.versions ?? {};
  const [major, minor] = node && !bun && !deno ? node.split(".") : [];
  if (major < ${minimumMajor} || (major == ${minimumMajor} && minor < ${minimumMinor}))
    throw new Error(\`${name} needs Node.js ${minimumNode} or newer, and this process runs \${node}: upgrade Node.js.\`);
}`,
});

/** The text of a source of another workspace, which is bundled but not in the tarball. */
const readUnpublished = (path: string) =>
  path.endsWith(".ts") &&
  relative(process.cwd(), path).startsWith("..") &&
  !path.includes("node_modules")
    ? readFileSync(path, "utf8")
    : null;

/**
 * Makes the absolute paths in the source maps of CommonJS relative, so that every machine builds
 * the same files, and adds the sources that the tarball does not contain.
 */
const relativeSourceMaps: NonNullable<Options["plugins"]>[number] = {
  name: "relative-source-maps",
  buildEnd({ writtenFiles }) {
    for (const { name } of writtenFiles) {
      if (!name.endsWith(".map")) continue;
      const map = JSON.parse(readFileSync(name, "utf8")) as { file?: string; sources: string[] };
      const near = (path: string) =>
        isAbsolute(path) ? relative(dirname(resolve(name)), path).replaceAll("\\", "/") : path;
      const file = map.file === undefined ? {} : { file: near(map.file) };
      const sources = map.sources.map(near);
      const sourcesContent = sources.map((source) =>
        readUnpublished(resolve(dirname(name), source)),
      );
      writeFileSync(name, JSON.stringify({ ...map, ...file, sources, sourcesContent }));
    }
  },
};

type Exports = Readonly<Record<string, unknown>>;

/**
 * The entry points that `exports` names, such as
 * `{ index: "src/index.ts", links: "src/links.ts" }`.
 */
export function readEntries(exports: Exports): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const [path, target] of Object.entries(exports)) {
    const source = (target as Record<string, unknown>)["@loyalty-cards/source"];
    if (typeof source !== "string") continue;
    entries[path === "." ? "index" : path.slice("./".length)] = source.slice("./".length);
  }
  return entries;
}

/** `exports` of a package whose entry points are these files in `src`. */
export function toExports(sources: readonly string[]) {
  const rows = sources.map((source) => {
    const name = basename(source, ".ts");
    const row = {
      "@loyalty-cards/source": `./src/${source}`,
      import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
      require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
    };
    return [name === "index" ? "." : `./${name}`, row];
  });
  return { ...Object.fromEntries(rows), "./package.json": "./package.json" };
}

/**
 * `typesVersions` of a package with these `exports`: how TypeScript finds the entry points with
 * `moduleResolution: node`.
 */
export function toTypesVersions(exports: Exports) {
  const { index: _, ...others } = readEntries(exports);
  return {
    "*": Object.fromEntries(Object.keys(others).map((name) => [name, [`./dist/${name}.d.cts`]])),
  };
}

/**
 * For `dts.compilerOptions`: the types of the private workspaces are inlined. They are checked by
 * `npm run types`; to check them here too would take more than half of a build.
 */
export const typesOptions = {
  noCheck: true,
  paths: {
    "@loyalty-cards/internal/*": ["../../internal/*.ts"],
    "@loyalty-cards/openapi": ["../../openapi/generated/schema.ts"],
    "@loyalty-cards/openapi/*": ["../../openapi/generated/*.ts"],
  },
};

/** The entry points of the package in the working folder, and tsup's options for every build. */
export function readBuild(): { entries: Record<string, string>; options: Options } {
  const { name, exports } = JSON.parse(readFileSync("package.json", "utf8"));
  return {
    entries: readEntries(exports),
    options: {
      format: ["esm", "cjs"],
      target: "node20",
      // By Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and
      // loses their names.
      treeshake: true,
      sourcemap: true,
      banner: nodeVersionBanner(name),
      plugins: [relativeSourceMaps],
      esbuildOptions(options) {
        // The sources are published beside them, see `relativeSourceMaps`.
        options.sourcesContent = false;
      },
    },
  };
}
