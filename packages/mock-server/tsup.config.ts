/** Builds every entry twice, ESM and CommonJS, with the document and the phone metadata inside; the command once. */
import { cpSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { defineConfig, type Options } from "tsup";

const shared: Options = {
  target: "node20",
  platform: "node",
  noExternal: ["@loyalty-cards/openapi", "libphonenumber-js", "uqr"],
  splitting: true,
  sourcemap: true,
  shims: true, // import.meta.url in CommonJS
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
};

const entry = { index: "src/index.ts", msw: "src/hosts/msw.ts", node: "src/hosts/node.ts" };

/** Swagger UI with its licence, and without its package: that one reports its installation to somebody. */
async function copyReference(): Promise<void> {
  const from = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  mkdirSync("dist/reference", { recursive: true });
  for (const name of [
    "swagger-ui-bundle.js",
    "swagger-ui-bundle.js.LICENSE.txt",
    "swagger-ui.css",
    "LICENSE",
    "NOTICE",
  ]) {
    cpSync(join(from, name), join("dist/reference", name));
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
