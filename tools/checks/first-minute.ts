/**
 * Follows the first guide as a new user does: saves the files that the page prints, and types its commands into one shell, in a
 * folder that contains only the packed packages. `first-minute.ts [--runs N] [framework …]` measures it.
 */
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { freePort } from "../../packages/webhook-inbox/test/own-redis.ts";
import { root, userEnvironment } from "../published.ts";
import { releaseFolder } from "../release/pack.ts";

export const frameworks = ["express", "fastify", "next"] as const;
export type Framework = (typeof frameworks)[number];

type Step = { file: string; content: string } | { commands: string };

const readPage = () => readFileSync(join(root, "docs/guides/getting-started.md"), "utf8");

/** The commands of the guide before this line run in a clone. */
const leaveClone = "cd ../my-shop\n";

/** Runs the command of the guide that packs the packages, without the build; a release has packed them. @returns the destination. */
export function packForGuide(destination: string): string {
  if (releaseFolder) {
    cpSync(releaseFolder, destination, { recursive: true });
    return destination;
  }
  const [, command] = /^npm ci && npm run build && (.+ \.\.\/my-shop)$/m.exec(readPage()) ?? [];
  if (command === undefined) throw new Error("The guide has no command that packs the packages.");
  const pack = command.replace("../my-shop", destination);
  execFileSync("bash", ["-ec", pack], { cwd: root, env: userEnvironment, stdio: "pipe" });
  return destination;
}

/** The files and commands of the page in its order, without the ones for other frameworks and those that run in a clone. */
export function readGuide(framework: Framework): Step[] {
  const steps: Step[] = [];
  let tab = "";
  for (const [, title, end, language, block = ""] of readPage().matchAll(
    /^\*\*(\w+)\*\*$|^(<!-- end text tabs -->)$|^```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (title !== undefined) tab = title.toLowerCase();
    else if (end !== undefined) tab = "";
    else if (tab !== "" && tab !== framework) continue;
    else if (language === "sh") steps.push({ commands: block.split(leaveClone).at(-1) ?? "" });
    else if (language === "ts") {
      const [, file] = /^\/\/ (\S+\.ts)\n/.exec(block) ?? [];
      if (file === undefined) throw new Error(`A file of the guide has no name:\n${block}`);
      steps.push({ file, content: block });
    }
  }
  return steps;
}

/** Times since the first command, in milliseconds. The time to read and to type is not in them. */
export interface FirstMinute {
  framework: Framework;
  installedMs: number;
  firstCardMs: number;
  verifiedMs: number;
}

/**
 * Runs the guide up to a verified webhook and a stopped shop.
 * @param folder contains only the tarballs.
 * @throws with the output of the shell when a command fails, or when the shop does not have the balance.
 */
export async function followGuide(framework: Framework, folder: string): Promise<FirstMinute> {
  const ports = { shop: await freePort(), service: await freePort() };
  const withPorts = (text: string) =>
    text.replace(/\b3000\b/g, String(ports.shop)).replace(/\b4010\b/g, String(ports.service));
  const settings = mkdtempSync(join(tmpdir(), "loyalty-cards-settings-"));
  const shell = new Shell(folder, settings, ports.shop);
  const times: FirstMinute = { framework, installedMs: 0, firstCardMs: 0, verifiedMs: 0 };
  const startedMs = performance.now();
  const elapsed = () => performance.now() - startedMs;
  try {
    for (const step of readGuide(framework)) {
      if ("file" in step) {
        const path = join(folder, step.file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, step.content);
        continue;
      }
      const output = await shell.type(withPorts(step.commands));
      if (step.commands.includes("npm install")) times.installedMs = elapsed();
      if (step.commands.trimEnd().endsWith("&")) await shell.waitFor(/The shop is open|Ready in/); // as the guide says
      if (step.commands.includes("/sign-up") && times.firstCardMs === 0) {
        times.firstCardMs = elapsed();
        const { links } = readJson(output) as { links: { page: string } };
        if (!(await fetch(links.page)).ok)
          throw new Error(`The page of the card, ${links.page}, does not open.`);
      }
      if (step.commands.includes("/purchase")) {
        await shell.waitFor(/ 204 .*→ balance\.changed/);
        times.verifiedMs = elapsed();
      }
      if (
        step.commands.endsWith("/users\n") &&
        (readJson(output) as { balance: number }[]).at(-1)?.balance !== 120
      )
        throw new Error(`The shop has ${output}`);
    }
    await shell.end();
    return times;
  } catch (error) {
    shell.kill();
    throw new Error(`${framework}: ${(error as Error).message}\n${shell.transcript}`);
  } finally {
    rmSync(settings, { recursive: true });
  }
}

/** The JSON in the output of curl. The shop and `exec` print into the same terminal, also behind it. */
function readJson(output: string): unknown {
  const line = output.split("\n").find((each) => /^[[{]/.test(each)) ?? "";
  return JSON.parse(line.slice(0, Math.max(line.lastIndexOf("}"), line.lastIndexOf("]")) + 1));
}

/** One bash. */
class Shell {
  transcript = "";
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #listeners = new Set<() => void>();
  readonly #jobs: string;
  #ended = false;
  #seen = 0;
  #count = 0;

  /** @param settings a folder for files of the shell. */
  constructor(folder: string, settings: string, port: number) {
    this.#jobs = join(settings, "jobs");
    writeFileSync(this.#jobs, "");
    writeFileSync(join(settings, ".curlrc"), "silent\nshow-error\n"); // in a terminal curl has no progress meter
    this.#child = spawn("bash", ["--norc", "-e"], {
      cwd: folder,
      env: { ...userEnvironment, PORT: String(port), CURL_HOME: settings },
      detached: true,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#onChange(text));
    this.#child.on("exit", () => {
      this.#ended = true;
      this.#onChange("");
    });
    this.#child.stdin.write("set -m; exec 2>&1\n"); // job control; a terminal shows both streams
  }

  #onChange(text: string): void {
    this.transcript += stripVTControlCharacters(text);
    for (const listener of this.#listeners) listener();
  }

  /** Types commands, and remembers the process groups of those in the background. @returns what was printed until they ended. */
  async type(commands: string): Promise<string> {
    this.#seen = this.transcript.length;
    const mark = `(command ${++this.#count} ended)`;
    this.#child.stdin.write(`${commands}jobs -p >>${this.#jobs}; printf '\\n%s\\n' "${mark}"\n`);
    await this.waitFor(new RegExp(`\n${mark.replace(/[()]/g, "\\$&")}\n`));
    return this.transcript.slice(this.#seen, this.transcript.indexOf(mark)).trim();
  }

  /** Waits for text that is printed after the start of the last commands. @throws when the shell ends, or after two minutes. */
  waitFor(pattern: RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (error?: Error) => {
        clearTimeout(timer);
        this.#listeners.delete(check);
        error === undefined ? resolve() : reject(error);
      };
      const timer = setTimeout(() => finish(new Error(`${pattern} was not printed.`)), 120_000);
      const check = () => {
        if (pattern.test(this.transcript.slice(this.#seen))) finish();
        else if (this.#ended) finish(new Error(`The shell ended before it printed ${pattern}.`));
      };
      this.#listeners.add(check);
      check();
    });
  }

  /** Ends the shell. @throws when a process that it has started still runs ten seconds later. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    const signal = AbortSignal.timeout(10_000); // "close": no process has its stdout any more
    await once(this.#child, "close", { signal }).catch(() => {
      throw new Error(
        "After the last command of the guide a process of the shop or of the service still runs.",
      );
    });
  }

  /** Ends everything after a failure. */
  kill(): void {
    const jobs = readFileSync(this.#jobs, "utf8").split("\n").filter(Boolean).map(Number);
    for (const group of new Set([...jobs, Number(this.#child.pid)])) {
      try {
        process.kill(-group, "SIGKILL");
      } catch {
        // it has ended
      }
    }
  }
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const formatSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** Prints the medians as a table. */
async function measure(names: readonly Framework[], runs: number): Promise<void> {
  const temporary = mkdtempSync(join(tmpdir(), "loyalty-cards-first-minute-"));
  try {
    const tarballs = packForGuide(join(temporary, "tarballs"));
    console.log(
      `| framework | packages installed | first card | first verified webhook | slowest of ${runs} |`,
    );
    console.log("|---|---|---|---|---|");
    for (const framework of names) {
      const all: FirstMinute[] = [];
      for (let run = 0; run < runs; run++) {
        const folder = join(temporary, `${framework}-${run}`);
        cpSync(tarballs, folder, { recursive: true });
        all.push(await followGuide(framework, folder));
      }
      const verified = all.map((each) => each.verifiedMs);
      const cells = [
        median(all.map((each) => each.installedMs)),
        median(all.map((each) => each.firstCardMs)),
        median(verified),
        Math.max(...verified),
      ];
      console.log(`| ${framework} | ${cells.map(formatSeconds).join(" | ")} |`);
      if (median(verified) >= 60_000) throw new Error(`${framework} takes more than a minute.`);
    }
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { runs: { type: "string", default: "5" } },
  });
  const names = frameworks.filter((name) => positionals.length === 0 || positionals.includes(name));
  await measure(names, Number(values.runs));
}
