/**
 * Builds every entry as ESM and CommonJS, and the command as ESM. The OpenAPI document and the
 * phone metadata are inlined.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Options } from "tsup";
import { readBuild, typesOptions } from "../../tools/release/build.ts";
import { bundleConsole, staticFiles } from "./src/pages/node-static-files.ts";

/**
 * In the sources the pages' files are read from disk; the build contains them, so that it also runs
 * in browsers.
 */
const inlineStaticFiles: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "inline-static-files",
  setup(build) {
    const contents = `export const staticFiles = new Map(${JSON.stringify([...staticFiles])});
export const bundleConsole = () => ${JSON.stringify(bundleConsole())};`;
    build.onLoad({ filter: /node-static-files\.ts$/ }, () => ({ contents, loader: "js" }));
  },
};

const { entries: entry, options } = readBuild();

const shared: Options = {
  ...options,
  platform: "node",
  noExternal: ["@hono/node-server", "@loyalty-cards/openapi", "hono", "libphonenumber-js", "uqr"],
  splitting: true,
  esbuildPlugins: [inlineStaticFiles],
  // esbuild prints each number of the phone metadata on a line of its own. Node.js prints the line
  // that threw before the message of an error that nobody catches.
  esbuildOptions(build, context) {
    options.esbuildOptions?.(build, context);
    build.minifyWhitespace = true;
    build.lineLimit = 200;
  },
  shims: true, // import.meta.url in CommonJS; without them `msw` would be loaded before the version of Node is checked
};

/**
 * Copies Swagger UI, compressed, with its licences. As a dependency it would report its
 * installation to a third party.
 */
async function copyReference(): Promise<void> {
  const from = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  const to = "dist/reference";
  mkdirSync(to, { recursive: true });
  const script = readFileSync(join(from, "swagger-ui-bundle.js"));
  writeFileSync(join(to, "swagger-ui-bundle.js.gz"), gzipSync(script, { level: 9 }));
  for (const name of ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"]) {
    cpSync(join(from, name), join(to, name));
  }
}

export default defineConfig([
  {
    ...shared,
    entry: { ...entry, bin: "src/adapters/bin.ts" },
    format: "esm",
    clean: true,
    onSuccess: copyReference,
  },
  { ...shared, entry, format: "cjs" },
  {
    entry,
    format: ["esm", "cjs"],
    dts: { only: true, compilerOptions: typesOptions },
  },
]);
