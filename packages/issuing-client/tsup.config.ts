/** Builds each entry twice, ESM and CommonJS, with the contract's types and openapi-fetch inlined, and what browsers get instead. */
import { defineConfig, type Options } from "tsup";
import { nodeVersionBanner } from "../../tools/release/node-version-banner.ts";
import { relativeSourceMaps } from "../../tools/release/relative-source-maps.ts";

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

const banner = nodeVersionBanner("@loyalty-cards/issuing-client");

const client: Options = {
  ...common,
  banner,
  entry: { index: "src/index.ts" },
  splitting: true,
  dts: {
    entry: {
      index: "src/index.ts",
      links: "src/links.ts",
      otel: "src/otel.ts",
    },
    resolve: [
      /^@loyalty-cards\/openapi/,
      /^@loyalty-cards\/internal/,
      "@standard-schema/spec",
      /^openapi-.*\.d\.mts$/,
    ],
    compilerOptions: {
      paths: { "openapi-typescript-helpers": ["./openapi-typescript-helpers.d.ts"] },
    },
  },
};

/** Each in one file: what they share with the client is small, and with shared files the first import of the client takes a third longer. */
const otel: Options = { ...common, banner, entry: { otel: "src/otel.ts" }, splitting: false };
const inBrowsers: Options = {
  ...common,
  entry: { browser: "src/browser.ts", links: "src/links.ts" },
  splitting: false,
};

export default defineConfig([client, otel, inBrowsers]);
