/** Installs a folder that has its own lock file; as a command, those that the arguments name. */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./run.ts";

/** `npm ci` in a folder with its own lock file, unless that is already installed. */
export function install(folder: string): void {
  const modified = (path: string) =>
    statSync(join(root, folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (modified("node_modules/.package-lock.json") > modified("package-lock.json")) return;
  const flags = ["--engine-strict=false", "--silent", "--no-audit", "--no-fund"];
  execFileSync("npm", ["ci", "--prefix", folder, ...flags], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const folder of process.argv.slice(2)) install(folder);
