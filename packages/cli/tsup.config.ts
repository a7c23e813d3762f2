/** Builds the command as ESM. Its libraries are bundled; each command loads its own when it runs. */
import { defineConfig } from "tsup";
import { relativeSourceMaps } from "../../tools/release/relative-source-maps.ts";

export default defineConfig({
  entry: { bin: "src/bin.ts" },
  format: "esm",
  target: "node20",
  platform: "node",
  noExternal: ["@loyalty-cards/internal", "@loyalty-cards/openapi", "commander", "csv-parse", "uqr"],
  splitting: true,
  treeshake: true,
  sourcemap: true,
  // commander is CommonJS, and requires built-in modules.
  banner: {
    js: 'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);',
  },
  plugins: [relativeSourceMaps],
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
  clean: true,
});
