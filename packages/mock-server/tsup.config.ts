/** Builds every entry twice, ESM and CommonJS, with the document and the phone metadata inside; the command once. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Options } from "tsup";
import { relativeSourceMaps } from "../../scripts/relative-source-maps.ts";

const shared: Options = {
  target: "node20",
  platform: "node",
  noExternal: ["@loyalty-cards/openapi", "libphonenumber-js", "uqr"],
  splitting: true,
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  plugins: [relativeSourceMaps],
  shims: true, // import.meta.url in CommonJS
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
};

const entry = { index: "src/index.ts", msw: "src/hosts/msw.ts", node: "src/hosts/node.ts" };

/** Swagger UI with its licences, compressed; without its package, which reports its installation to somebody. */
async function copyReference(): Promise<void> {
  const from = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  const to = "dist/reference";
  mkdirSync(to, { recursive: true });
  for (const name of ["swagger-ui-bundle.js", "swagger-ui.css"]) {
    writeFileSync(join(to, `${name}.gz`), gzipSync(readFileSync(join(from, name)), { level: 9 }));
  }
  for (const name of ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"]) {
    cpSync(join(from, name), join(to, name));
  }
}

export default defineConfig([
  {
    ...shared,
    entry: { ...entry, bin: "src/hosts/bin.ts" },
    format: "esm",
    clean: true,
    onSuccess: copyReference,
  },
  { ...shared, entry, format: "cjs" },
  { entry, format: ["esm", "cjs"], dts: { only: true, resolve: ["@loyalty-cards/openapi"] } },
]);
