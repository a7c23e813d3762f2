/** Builds every entry twice, ESM and CommonJS, with the contract's types inlined. */
import { defineConfig } from "tsup";
import { relativeSourceMaps } from "../../scripts/relative-source-maps.ts";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    express: "src/adapters/express.ts",
    fastify: "src/adapters/fastify.ts",
    next: "src/adapters/next.ts",
    fetch: "src/adapters/fetch.ts",
    node: "src/adapters/node.ts",
    koa: "src/adapters/koa.ts",
    nest: "src/adapters/nest.ts",
    lambda: "src/adapters/lambda.ts",
    doctor: "src/doctor/check-receiver.ts",
  },
  format: ["esm", "cjs"],
  target: "node20",
  platform: "neutral",
  dts: { resolve: ["@loyalty-cards/openapi"] },
  splitting: true,
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  plugins: [relativeSourceMaps],
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
  clean: true,
});
