/** Builds each entry twice, ESM and CommonJS, with the contract's types and openapi-fetch inlined, and what browsers get instead. */
import { defineConfig, type Options } from "tsup";
import { relativeSourceMaps } from "../../scripts/relative-source-maps.ts";

const common: Options = {
  format: ["esm", "cjs"],
  target: "node20",
  platform: "neutral",
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  plugins: [relativeSourceMaps],
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
};

const client: Options = {
  ...common,
  entry: { index: "src/index.ts", bulk: "src/bulk/issue-cards.ts" },
  splitting: true,
  dts: {
    entry: {
      index: "src/index.ts",
      links: "src/links.ts",
      otel: "src/otel.ts",
      bulk: "src/bulk/issue-cards.ts",
    },
    resolve: ["@loyalty-cards/openapi", "@standard-schema/spec", /^openapi-.*\.d\.mts$/],
    compilerOptions: {
      paths: { "openapi-typescript-helpers": ["./openapi-typescript-helpers.d.ts"] },
    },
  },
};

/** Each in one file: what they share with the client is small, and with shared files the first import of the client takes a third longer. */
const others: Options = {
  ...common,
  entry: {
    browser: "src/browser.ts",
    links: "src/links.ts",
    otel: "src/otel.ts",
  },
  splitting: false,
};

export default defineConfig([client, others]);
