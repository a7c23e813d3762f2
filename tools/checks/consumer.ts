/** An empty project with the packed packages, as a user has it. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { published, root, userEnvironment } from "../published.ts";
import { pack } from "../release/pack.ts";

export interface Consumer {
  folder: string;
  /** Runs a command there. @returns its output. */
  run(command: string, ...args: string[]): string;
  /** Runs an installed command by its name, with the npx of the same npm. */
  npx(...args: string[]): string;
  /** Installs all published packages, as they were built, and other packages. */
  install(...others: string[]): void;
  /** Installs only one of them. @returns the names of all packages that are installed then. */
  installAlone(name: string): string[];
  close(): void;
}

/** Creates the project with the programs of `tools/checks/consumer`. @param node the binary that runs npm. */
export function openConsumer(node = process.execPath): Consumer {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-consumer-"));
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error("Run this with npm run: it installs with the same npm.");
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, {
      cwd: folder,
      env: userEnvironment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
  cpSync(join(root, "tools/checks/consumer"), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  return {
    folder,
    run,
    npx: (...args) => run(node, join(dirname(npm), "npx-cli.js"), ...args),
    install(...others) {
      const tarballs = published.map((one) => pack(one.folder, folder).file);
      run(node, npm, "install", "--no-audit", "--no-fund", ...tarballs, ...others);
    },
    installAlone(name) {
      const tarball = pack(join(root, "packages", name), folder).file;
      run(node, npm, "install", "--no-audit", "--no-fund", tarball);
      const tree = JSON.parse(run(node, npm, "ls", "--omit=dev", "--all", "--json")) as Tree;
      return listNames(tree);
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** The output of `npm ls --json`. It lists an optional peer that is not installed without a version. */
interface Tree {
  version?: string;
  dependencies?: Record<string, Tree>;
}

const listNames = ({ dependencies = {} }: Tree): string[] =>
  Object.entries(dependencies).flatMap(([name, tree]) =>
    tree.version === undefined ? [] : [name, ...listNames(tree)],
  );

/** Runs the installed `loyalty-cards` against a mock service. */
export function runCommand({ run }: Consumer, node = process.execPath): void {
  const command = "node_modules/@loyalty-cards/cli/bin.js";
  expectOutput("works", run(node, command, "exec", "--quiet", "--", node, "command.mjs"), "command.mjs");
}

/** @throws unless a program printed exactly this. */
export function expectOutput(expected: string, output: string, program: string): void {
  if (output.trim() !== expected) throw new Error(`${program} printed: ${output.trim()}`);
}
