/** Builds every entry twice, ESM and CommonJS. */
import { defineConfig } from "tsup";
import { nodeVersionBanner } from "../../tools/release/node-version-banner.ts";
import { relativeSourceMaps } from "../../tools/release/relative-source-maps.ts";

export default defineConfig({
  entry: {
    index: "src/index.ts",

    postgres: "src/postgres.ts",
    otel: "src/otel.ts",
  },
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  dts: { compilerOptions: { paths: { "@loyalty-cards/internal/*": ["../../internal/*.ts"] } } },
  splitting: true,
  banner: nodeVersionBanner("@loyalty-cards/issuing-outbox"),
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  plugins: [relativeSourceMaps],
  shims: true, // import.meta.url in CommonJS
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
  clean: true,
});
