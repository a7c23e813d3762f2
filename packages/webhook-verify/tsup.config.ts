/** Builds every entry twice, ESM and CommonJS, with the contract's types inlined. */
import { defineConfig } from "tsup";
import { readBuild } from "../../tools/release/build.ts";

const { entries, options } = readBuild();
const { doctor, ...receivers } = entries;
const common = { ...options, platform: "neutral" as const };

export default defineConfig([
  {
    ...common,
    entry: receivers,
    splitting: true,
    dts: { entry: entries, resolve: ["@loyalty-cards/openapi"] },
  },
  // In one file: it shares less with the receivers than they share with each other, and would split what they share in two files.
  ...(doctor === undefined ? [] : [{ ...common, entry: { doctor }, splitting: false }]),
]);
