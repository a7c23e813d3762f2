/** An empty project of a user's, with the packed packages in it. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pack } from "./pack.ts";
import { published, root } from "./published.ts";

export interface Consumer {
  folder: string;
  /** Runs a command there, and returns what it said. */
  run(command: string, ...args: string[]): string;
  /** Runs an installed command by its name, with the npx of the same npm. */
  npx(...args: string[]): string;
  /** Installs the packages that are published, as they were built, and others beside them. */
  install(...others: string[]): void;
  /** Installs one of them and nothing beside it. @returns the names of all packages that are there then. */
  installAlone(name: string): string[];
  close(): void;
}

/** The project, with the programs of `scripts/consumer` in it, used with the given Node. */
export function openConsumer(node = process.execPath): Consumer {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-consumer-"));
  /** Not this repository's npm settings: a user's are plain. */
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error("Run this with npm run: it installs with the same npm.");
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  cpSync(join(root, "scripts/consumer"), folder, { recursive: true });
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
      return namesIn(tree);
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** What `npm ls --json` says. An optional peer that is not installed is listed too, without a version. */
interface Tree {
  version?: string;
  dependencies?: Record<string, Tree>;
}

const namesIn = ({ dependencies = {} }: Tree): string[] =>
  Object.entries(dependencies).flatMap(([name, tree]) =>
    tree.version === undefined ? [] : [name, ...namesIn(tree)],
  );

/** A program of the consumer's has to say exactly this. */
export function expectSaid(expected: string, said: string, program: string): void {
  if (said.trim() !== expected) throw new Error(`${program} said: ${said.trim()}`);
}
