/** Builds every entry twice, ESM and CommonJS. */
import { defineConfig } from "tsup";
import { readBuild, workspacePaths } from "../../tools/release/build.ts";

const { entries, options } = readBuild();

export default defineConfig({
  ...options,
  entry: entries,
  platform: "node",
  // As paths, because in node_modules the imports between these files would not be inlined.
  dts: { compilerOptions: { paths: workspacePaths } },
  splitting: true,
  shims: true, // import.meta.url in CommonJS
  clean: true,
});
