/** Bundles programs, which then start in a fraction of the time; the command `loyalty-cards-mock` once for all tests of a run. */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/**
 * Bundles a program into a folder that has the packages of the repository.
 * @param external packages that are imported from node_modules.
 */
export function bundle(source: URL, folder: string, file: string, external: string[] = []): string {
  const outfile = join(folder, file);
  symlinkSync(
    fileURLToPath(new URL("../../../../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  buildSync({
    entryPoints: [fileURLToPath(source)],
    conditions: ["@loyalty-cards/source"],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile,
    external,
  });
  return outfile;
}

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "mock-server-bin-"));
  symlinkSync(fileURLToPath(new URL("../../static", import.meta.url)), join(folder, "static"));
  const source = new URL("../../src/adapters/bin.ts", import.meta.url);
  project.provide("bundledCommand", bundle(source, folder, "src/adapters/bin.mjs"));
  return () => rmSync(folder, { recursive: true });
}
