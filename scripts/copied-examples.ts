/** Copies examples into empty folders, installs the packed tarballs there by the commands of the README, and runs them. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { regionOf } from "../docs/snippets.ts";
import { root } from "./published.ts";

/** A user's own npm settings, not those of this repository. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
const commands = readFileSync(join(root, "examples/getting-started/commands.sh"), "utf8");
const temporary = mkdtempSync(join(tmpdir(), "loyalty-cards-copied-"));
const tarballs = join(temporary, "tarballs");

function run(command: string, folder: string): string {
  return execFileSync("bash", ["-ec", command], {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** The command of the README, in a folder of ours. What was built is not built again. */
function packAll(): void {
  const command = regionOf(commands, "commands.sh", "pack")
    .replace("npm ci && npm run build\n", "")
    .replaceAll("../my-shop", tarballs);
  run(command, root);
}

/** The files of an example in an empty folder, with the tarballs installed. */
function copied(example: string, ...others: string[]): string {
  const folder = join(temporary, example);
  cpSync(join(root, "examples", example), folder, {
    recursive: true,
    filter: (path) => basename(path) !== "node_modules" && !/\bcommands\.|\bshell\.ts$/.test(basename(path)),
  });
  cpSync(tarballs, folder, { recursive: true });
  run([regionOf(commands, "commands.sh", "install-tarballs"), ...others].join(" "), folder);
  return folder;
}

try {
  packAll();
  const tests = copied("test-your-integration");
  run("npm test", tests);
  run("npm run test:server", tests);
  console.log("✓ test-your-integration works in an empty folder, with the packed packages");
} finally {
  rmSync(temporary, { recursive: true });
}
