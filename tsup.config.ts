/** Builds the entries of each package without a tsup.config.ts of its own, as ESM and CommonJS. tsup looks for it in the parent folders. */
import { defineConfig } from "tsup";
import { readBuild, typesOptions } from "./tools/release/build.ts";

const { entries, options } = readBuild();

export default defineConfig({
  ...options,
  entry: entries,
  // As paths, because in node_modules the imports between these files would not be inlined.
  dts: { compilerOptions: typesOptions },
  splitting: true,
  clean: true,
});
