/**
 * Builds each entry twice, ESM and CommonJS, with the contract's types and openapi-fetch inlined,
 * and what browsers get instead.
 */
import { defineConfig, type Options } from "tsup";
import { readBuild, typesOptions } from "../../tools/release/build.ts";

const { entries, options } = readBuild();
const common: Options = { ...options, platform: "neutral" };
const { banner: _, ...inBrowser } = common;

export default defineConfig([
  {
    ...common,
    entry: { index: "src/index.ts" },
    splitting: true,
    dts: {
      entry: entries,
      resolve: [/^openapi-.*\.d\.mts$/],
      compilerOptions: {
        ...typesOptions,
        paths: {
          ...typesOptions.paths,
          "openapi-typescript-helpers": ["./openapi-typescript-helpers.d.ts"],
        },
      },
    },
  },
  { ...inBrowser, entry: { browser: "src/browser.ts", links: "src/links.ts" }, splitting: false },
]);
