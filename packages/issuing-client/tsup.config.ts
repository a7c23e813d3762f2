/** Builds each entry twice, ESM and CommonJS, with the contract's types and openapi-fetch inlined, and what browsers get instead. */
import { defineConfig } from "tsup";
import { relativeSourceMaps } from "../../scripts/relative-source-maps.ts";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    browser: "src/browser.ts",
    links: "src/links.ts",
    undici: "src/undici-transport.ts",
    otel: "src/otel.ts",
    bulk: "src/bulk/issue-cards.ts",
  },
  format: ["esm", "cjs"],
  target: "node20",
  platform: "neutral",
  dts: {
    entry: {
      index: "src/index.ts",
      links: "src/links.ts",
      undici: "src/undici-transport.ts",
      otel: "src/otel.ts",
      bulk: "src/bulk/issue-cards.ts",
    },
    resolve: ["@loyalty-cards/openapi", "@standard-schema/spec", /^openapi-.*\.d\.mts$/],
    compilerOptions: {
      paths: { "openapi-typescript-helpers": ["./openapi-typescript-helpers.d.ts"] },
    },
  },
  splitting: true,
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  plugins: [relativeSourceMaps],
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
  clean: true,
});
