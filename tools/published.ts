/**
 * The packages that are published to npm: every folder of `packages/` whose manifest is not
 * private. As a command, those whose version has no git tag yet, as NAME@VERSION: a workflow
 * publishes and tags them.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readEntries } from "./release/build.ts";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** A user's own npm settings, not those of this repository. */
export const userEnvironment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  NEXT_TELEMETRY_DISABLED: "1",
};

/**
 * Runs a program without a shell, except npm on Windows, where it is a script.
 * @returns what it printed.
 * @throws with what it printed.
 */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env = process.env,
): string {
  const shell = process.platform === "win32" && command === "npm";
  const result = spawnSync(command, args, {
    cwd,
    env,
    shell,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (result.status === 0) return result.stdout;
  const { error, stdout, stderr } = result;
  throw new Error(`${command} ${args.join(" ")} failed: ${error ?? ""}\n${stdout}${stderr}`);
}

/** The members of a package.json that the scripts read. */
export interface Manifest {
  name: string;
  private?: boolean;
  license?: string;
  files?: string[];
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  exports?: Record<string, unknown>;
  [member: string]: unknown;
}

export interface Published {
  /** Its folder in `packages/`, which is also its name without the scope. */
  name: string;
  folder: string;
  manifest: Manifest;
}

export const published: readonly Published[] = readdirSync(join(root, "packages"))
  .map((name) => {
    const folder = join(root, "packages", name);
    const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return { name, folder, manifest };
  })
  .filter(({ manifest }) => !manifest.private);

/**
 * The entry points of all packages: the package's name without scope, what a program imports, and
 * the file of the source.
 */
export const entryPoints = published.flatMap(({ name, folder, manifest }) =>
  Object.entries(readEntries(manifest.exports ?? {})).map(([entry, source]) => ({
    name,
    specifier: manifest.name + (entry === "index" ? "" : `/${entry}`),
    source: join(folder, source),
  })),
);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tags = run("git", ["tag", "--list"], root).split("\n");
  const versions = published.map(({ manifest }) => `${manifest.name}@${manifest["version"]}`);
  console.log(versions.filter((version) => !tags.includes(version)).join(" "));
}
