/** Runs commands of the guides in a shell where `npx` finds the bundled commands of this repository, and `tsx` its sources, on free ports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
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

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const program = readFileSync(join(here, "commands.sh"), "utf8");
const fromSource = `--conditions=@loyalty-cards/source --import ${import.meta.resolve("tsx")}`;

export interface Shell {
  /** Starts the commands of a region, with additional environment variables. The ports are those of {@link openShell}. */
  start(region: string, env?: NodeJS.ProcessEnv): ChildProcess;
  /** The output of a region. */
  output(region: string): Promise<string>;
}

/** @param ports replace 3000 (shop) and 4010 (service). */
export function openShell(ports: { shop: number; service: number }): Shell {
  const folder = mkdtempSync(join(tmpdir(), "guides-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  stub(
    "npx",
    `name=$1; shift
case $name in
  tsx) exec node ${fromSource} "$@" ;;
  loyalty-cards)
    [ "$1" = dev ] && set -- "$@" --port ${ports.service} # its default is 4010
    exec node ${inject("bundledCli")} "$@" ;;
  @loyalty-cards/mock-server) exec node ${inject("bundledCommand")} "$@" ;;
  *) exit 127 ;; # npm has unrelated packages, such as mock-server
esac`,
  );
  stub("npm", 'echo "npm $* $LOYALTY_URL $LOYALTY_TEMPLATE_ID"'); // the script of a reader

  writeFileSync(join(folder, ".curlrc"), "silent\nshow-error\n");
  // The folder of the reader: the programs of the guide, and the packages.
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  for (const file of readdirSync(here).filter((name) => /\.ts$/.test(name)))
    copyFileSync(join(here, file), join(folder, file));

  function stub(name: string, lines: string): void {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/bash\n${lines}\n`);
    chmodSync(file, 0o755);
  }

  function withPort(text: string): string {
    return text
      .replace(/\b3000\b/g, String(ports.shop))
      .replace(/\b4010\b/g, String(ports.service));
  }

  function start(region: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
    const line = withPort(readRegion(program, "commands.sh", region));
    const child = spawn("bash", ["-c", line], {
      cwd: folder,
      detached: true, // in its own process group, so that all of it can be killed
      env: {
        ...process.env,
        PATH: `${folder}${delimiter}${process.env["PATH"]}`,
        CURL_HOME: folder,
        PORT: String(ports.shop),
        ...env,
      },
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

  async function output(region: string): Promise<string> {
    let text = "";
    for await (const chunk of start(region).stdout ?? []) text += chunk;
    return text;
  }

  return { start, output };
}

/** The first line of a child's output that matches. @throws when it ends without one. */
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
