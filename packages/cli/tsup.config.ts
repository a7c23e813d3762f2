/**
 * Builds the command as ESM. Its libraries are bundled; each command loads its own when it runs.
 */
import { defineConfig } from "tsup";
import { readBuild } from "../../tools/release/build.ts";

export default defineConfig({
  ...readBuild().options,
  entry: { bin: "src/bin.ts" },
  format: "esm",
  platform: "node",
  noExternal: [
    "@loyalty-cards/internal",
    "@loyalty-cards/openapi",
    "commander",
    "cross-spawn",
    "csv-parse",
  ],
  splitting: true,
  // commander and cross-spawn are CommonJS, and require built-in modules.
  banner: {
    js: 'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);',
  },
  clean: true,
});
