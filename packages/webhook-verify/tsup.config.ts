/** Builds every entry twice, ESM and CommonJS, with the contract's types inlined. */
import { defineConfig, type Options } from "tsup";
import { nodeVersionBanner } from "../../tools/release/node-version-banner.ts";
import { relativeSourceMaps } from "../../tools/release/relative-source-maps.ts";

const common: Options = {
  format: ["esm", "cjs"],
  target: "node20",
  platform: "neutral",
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  banner: nodeVersionBanner("@loyalty-cards/webhook-verify"),
  plugins: [relativeSourceMaps],
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
};

const entries = {
  index: "src/index.ts",
  express: "src/adapters/express.ts",
  fastify: "src/adapters/fastify.ts",
  next: "src/adapters/next.ts",
  fetch: "src/adapters/fetch.ts",
  node: "src/adapters/node.ts",
  koa: "src/adapters/koa.ts",
  nest: "src/adapters/nest.ts",
  lambda: "src/adapters/lambda.ts",
};

const receivers: Options = {
  ...common,
  entry: entries,
  splitting: true,
  dts: {
    resolve: [/^@loyalty-cards\/openapi/],
  },
};
export default defineConfig(receivers);
