/** Runs the command as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { inject, onTestFinished } from "vitest";
import { createFolder } from "./terminal.ts";

const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
/** The arguments of Node.js that run the sources of a package, in any folder. */
export const sourceFlags = ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")];

/** The command in the place of an installed `loyalty-cards`: the bundle of the integration tests, or the sources. */
export function getProgram(): string[] {
  const bundled: string | undefined = inject("bundledCli"); // undefined in unit tests
  return [process.execPath, ...(bundled === undefined ? [...sourceFlags, bin] : [bundled])];
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunningProcess {
  child: ChildProcess;
  exit: Promise<Ended>;
  /** Resolves with the match when stdout or stderr has it. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface ProcessOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** What standard input has; `open` when it does not end. Default: nothing. */
  stdin?: string | { open: string };
  /** Commands of the shell before it. */
  before?: string;
}

export function startProcess(args: readonly string[], options: ProcessOptions = {}): RunningProcess {
  const { cwd = createFolder(), env, stdin, before } = options;
  const shell = before === undefined ? [] : ["/bin/sh", "-c", `${before} exec "$@"`, "sh"];
  const [file = "", ...rest] = [...shell, ...getProgram(), ...args];
  const child = spawn(file, rest, {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  if (typeof stdin === "string") child.stdin?.end(stdin);
  else if (stdin !== undefined) child.stdin?.write(stdin.open);
  const written = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.on("data", (chunk) => {
      written[name] += chunk;
      for (const check of waiting) check();
    });
  }
  return {
    child,
    exit: new Promise((resolve) =>
      child.on("close", (code, signal) => resolve({ code, signal, ...written })),
    ),
    waitFor: (pattern) =>
      new Promise((resolve) => {
        const check = () => {
          const match = pattern.exec(stripVTControlCharacters(written.stdout + written.stderr));
          if (match !== null) resolve(match);
        };
        waiting.add(check);
        check();
      }),
  };
}
