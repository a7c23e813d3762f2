/** Builds every entry twice, ESM and CommonJS, with the contract's types inlined. */
import { defineConfig } from "tsup";
import { readBuild, workspacePaths } from "../../tools/release/build.ts";

const { entries, options } = readBuild();

export default defineConfig({
  ...options,
  platform: "neutral",
  entry: entries,
  splitting: true,
  dts: { entry: entries, compilerOptions: { paths: workspacePaths } },
});
