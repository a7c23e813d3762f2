/** Builds every entry twice, ESM and CommonJS, with the document and the phone metadata inside; the command once. */
import { defineConfig, type Options } from "tsup";

const shared: Options = {
  target: "node20",
  platform: "node",
  noExternal: ["@loyalty-cards/openapi", "libphonenumber-js"],
  splitting: true,
  sourcemap: true,
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
};

const entry = { index: "src/index.ts", msw: "src/hosts/msw.ts", node: "src/hosts/node.ts" };

export default defineConfig([
  { ...shared, entry: { ...entry, bin: "src/hosts/bin.ts" }, format: "esm", clean: true },
  { ...shared, entry, format: "cjs" },
  { entry, format: ["esm", "cjs"], dts: { only: true, resolve: ["@loyalty-cards/openapi"] } },
]);
