/**
 * Runs commands of the guides in a folder where `npx` finds the bundled commands of this
 * repository, and `tsx` its sources.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject, onTestFinished } from "vitest";
import { readRegion } from "../../tools/docs/snippets.ts";
import { root } from "../../tools/run.ts";

const toPath = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const script = readFileSync(toPath("commands.sh"), "utf8");

/** For Node.js: it runs the sources of the packages. */
export const fromSource = [
  "--conditions=@loyalty-cards/source",
  `--import=${import.meta.resolve("tsx")}`,
];

/** Runs commands in bash, until they end or the test does. */
function spawnBash(commands: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn("bash", ["-ec", commands], {
    cwd,
    detached: true, // in its own process group, so that all of it can be killed
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  // SIGTERM, because `loyalty-cards exec` passes it on to the command that it runs.
  onTestFinished(async () => {
    if (child.exitCode !== null || child.pid === undefined) return;
    process.kill(-child.pid, "SIGTERM");
    await once(child, "exit");
  });
  return child;
}

function readCommands(
  region: string,
  replaced: Record<string, string | number>,
): string {
  let commands = readRegion(script, "commands.sh", region);
  for (const [text, own] of Object.entries(replaced))
    commands = commands.replaceAll(text, String(own));
  return commands;
}

/** Starts the commands of a region in this repository, with what npm has installed there. */
export const startInClone = (
  region: string,
  replaced: Record<string, string | number>,
): ChildProcess => spawnBash(readCommands(region, replaced), root, process.env);

/**
 * @param replaced text of the commands, such as a port, and what replaces it.
 * @param env variables of the commands.
 * @param atEnd registers what removes the folder.
 */
export function openShell(
  replaced: Record<string, string | number>,
  env: NodeJS.ProcessEnv = {},
  atEnd: (remove: () => void) => void = onTestFinished,
) {
  const folder = mkdtempSync(join(tmpdir(), "guides-"));
  atEnd(() => rmSync(folder, { recursive: true }));
  const write = (file: string, text: string) =>
    writeFileSync(join(folder, file), text, { mode: 0o755 });
  write(
    "npx",
    `#!/bin/bash
name=$1; shift
case $name in
  tsx) exec node ${fromSource.join(" ")} "$@" ;;
  loyalty-cards) exec node "${inject("bundledCli")}" "$@" ;;
  @loyalty-cards/mock-server) exec node "${inject("bundledCommand")}" "$@" ;;
  *) exit 127 ;; # npm has unrelated packages, such as mock-server
esac
`,
  );
  // The script of a reader.
  write("npm", '#!/bin/bash\necho "npm $* $LOYALTY_URL $LOYALTY_TEMPLATE_ID"\n');
  write(".curlrc", "silent\nshow-error\n");
  // The folder of the reader: the programs of the guide, and the packages.
  write("package.json", '{ "type": "module" }');
  cpSync(toPath("../getting-started"), folder, { recursive: true });
  const packages = join(folder, "node_modules");
  symlinkSync(toPath("../../node_modules"), packages, "junction");

  function spawnRegion(region: string, before: string, more: NodeJS.ProcessEnv) {
    return spawnBash(before + readCommands(region, replaced), folder, {
      ...process.env,
      PATH: `${folder}${delimiter}${process.env["PATH"]}`,
      CURL_HOME: folder,
      npm_package_name: undefined, // a reader does not work in a script of npm
      ...env,
      ...more,
    });
  }

  return {
    folder,
    /** Starts the commands of a region; their stdout is that of the child, and their stderr too. */
    start: (region: string, more: NodeJS.ProcessEnv = {}): ChildProcess =>
      spawnRegion(region, "exec 2>&1\n", more),
    /** What the commands of a region print to stdout, also when they fail. */
    async run(region: string, more: NodeJS.ProcessEnv = {}) {
      const child = spawnRegion(region, "", more);
      const exit = once(child, "exit");
      let stdout = "";
      for await (const chunk of child.stdout ?? []) stdout += chunk;
      const [code] = await exit;
      return { stdout, code: code as number };
    },
  };
}

/** Resolves with the first match in a child's output; rejects when that ends without one. */
export async function findLine(
  child: ChildProcess,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  let text = "";
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ??
    []) {
    text += chunk;
    const found = pattern.exec(text);
    if (found !== null) return found;
  }
  throw new Error(`${pattern} was not printed, but ${JSON.stringify(text)}.`);
}
