/**
 * The files of static/, read from disk, and the console's script. The build replaces this module by
 * one that contains them, see tsup.config.ts.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const folder = new URL("../../static/", import.meta.url);

/** The files by their path inside static/, with slashes; without the modules of the console. */
export const staticFiles: ReadonlyMap<string, string> = new Map(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name) && !/^console\/.*\.jsx?$/.test(name))
    .sort()
    .map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
);

/**
 * Bundles the console and Preact as one module, with the esbuild that also builds the package:
 * htm/preact needs no bundler, but its last release is of 2022 and contains an old Preact.
 */
export function bundleConsole(): string {
  // esbuild is not imported, because a program that bundles these sources cannot contain esbuild.
  const { buildSync } = createRequire(import.meta.url)("esbuild") as typeof import("esbuild");
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("console/main.jsx", folder))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  return outputFiles.map(({ text }) => text).join("");
}
