/** Takes the Next example away from this repository, as somebody who pastes it does, and installs the packed packages. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const example = here("../../examples/next-signup/");
/** Not this repository's npm settings: a user's are plain. */
export const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  NEXT_TELEMETRY_DISABLED: "1",
};

export function openWorkshop() {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-shop-"));
  const run = (command, ...args) => {
    try {
      execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      throw new Error(`${command} ${args.join(" ")} said:\n${error.stdout}${error.stderr}`);
    }
  };
  const leftBehind = ["node_modules", ".next", "next-env.d.ts"].map((name) => join(example, name));
  cpSync(example, folder, {
    recursive: true,
    filter: (path) => !leftBehind.some((name) => path === name || path.startsWith(name + sep)),
  });

  // Ours come as tarballs until they are published; the lock file has everything else.
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const ours = [];
  for (const list of [manifest.dependencies, manifest.devDependencies]) {
    for (const name of Object.keys(list).filter((name) => name.startsWith("@loyalty-cards/"))) {
      ours.push(name.replace("@loyalty-cards/", ""));
      delete list[name];
    }
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  // Built before: packing again would build again.
  const packages = ours.map((name) => `--workspace=packages/${name}`);
  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder, ...packages], {
    cwd: here("../.."),
    env,
    stdio: "pipe",
  });
  const tarballs = readdirSync(folder).filter((file) => file.endsWith(".tgz"));
  // Both in one: what the lock file has is installed as it says.
  run("npm", "install", "--no-save", "--no-audit", "--no-fund", ...tarballs.map((file) => `./${file}`));
  return {
    folder,
    build: () => run("npx", "next", "build"),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
