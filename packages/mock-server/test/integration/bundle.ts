/** Bundles the command `loyalty-cards-mock` once for all tests of a run. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * The path of the command in one file, made from its source: it starts in a quarter of the time that the source needs. It stands
     * in a folder like the package's own, so that it finds the files of the console and of the reference.
     */
    bundledCommand: string;
  }
}

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "mock-server-bin-"));
  const outfile = join(folder, "src/adapters/bin.mjs");
  mkdirSync(dirname(outfile), { recursive: true });
  symlinkSync(fileURLToPath(new URL("../../static", import.meta.url)), join(folder, "static"));
  symlinkSync(
    fileURLToPath(new URL("../../../../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  buildSync({
    entryPoints: [fileURLToPath(new URL("../../src/adapters/bin.ts", import.meta.url))],
    conditions: ["@loyalty-cards/source"],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile,
  });
  project.provide("bundledCommand", outfile);
  return () => rmSync(folder, { recursive: true });
}
