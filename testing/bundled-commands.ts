/**
 * Bundles the commands `loyalty-cards-mock` and `loyalty-cards` once for all tests of a run: they
 * start in a fraction of the time.
 */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of `loyalty-cards-mock` in one file, made from its source. */
    bundledCommand: string;
    /** The same of `loyalty-cards`. */
    bundledCli: string;
  }
}

const inPackages = (path: string) => fileURLToPath(new URL(`../packages/${path}`, import.meta.url));

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "mock-server-bin-"));
  // The files stand in a folder like the package's own, so that they find the console and the
  // packages.
  symlinkSync(inPackages("mock-server/static"), join(folder, "static"));
  symlinkSync(
    fileURLToPath(new URL("../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  const bundle = (source: string, name: string) => {
    const outfile = join(folder, "src/adapters", name);
    buildSync({
      entryPoints: [inPackages(source)],
      conditions: ["@loyalty-cards/source"],
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      outfile,
      external: ["libsql"],
      // commander is CommonJS, and requires built-in modules.
      banner: {
        js: 'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);',
      },
    });
    return outfile;
  };
  project.provide("bundledCommand", bundle("mock-server/src/adapters/bin.ts", "bin.mjs"));
  project.provide("bundledCli", bundle("cli/src/bin.ts", "cli.mjs"));
  return () => rmSync(folder, { recursive: true });
}
