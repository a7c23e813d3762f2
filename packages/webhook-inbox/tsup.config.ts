/** Builds every entry twice, ESM and CommonJS. */
import { defineConfig } from "tsup";
import { nodeVersionBanner } from "../../tools/release/node-version-banner.ts";
import { relativeSourceMaps } from "../../tools/release/relative-source-maps.ts";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    sqlite: "src/sqlite/processed.ts",
    postgres: "src/postgres/index.ts",
    otel: "src/otel.ts",
    status: "src/status/index.ts",
  },
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  // As paths, because in node_modules the imports between these files would not be inlined.
  dts: { compilerOptions: { paths: { "@loyalty-cards/internal/*": ["../../internal/*.ts"] } } },
  splitting: true,
  banner: nodeVersionBanner("@loyalty-cards/webhook-inbox"),
  treeshake: true, // by Rollup, which also makes the CommonJS: tsup's own way, Sucrase, rewrites classes and loses their names
  sourcemap: true,
  plugins: [relativeSourceMaps],
  shims: true, // import.meta.url in CommonJS
  esbuildOptions(options) {
    options.sourcesContent = false; // the sources are published beside
  },
  clean: true,
});
