/** Builds every entry twice, ESM and CommonJS, with the contract's types inlined. */
import { defineConfig } from "tsup";
import { nodeVersionBanner } from "../../scripts/node-version-banner.ts";
import { relativeSourceMaps } from "../../scripts/relative-source-maps.ts";
import manifest from "./package.json" with { type: "json" };

/** The entry points of package.json: `./koa` is built from its source into `dist/koa`. */
const entry = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([path, conditions]) =>
    typeof conditions === "string"
      ? []
      : [[path === "." ? "index" : path.slice(2), conditions["@loyalty-cards/source"]]],
  ),
);

export default defineConfig({
  entry,
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
  splitting: true,
  dts: { resolve: ["@loyalty-cards/openapi"] },
});
