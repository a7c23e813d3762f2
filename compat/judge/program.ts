/** The program of a shop: starts it with its environment, kills all that it started, and keeps what it prints. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SettingsError } from "./settings.ts";

const startTimeoutMs = 60_000;

export interface ProgramOptions {
  command: string;
  cwd: string;
  port: number;
  env: NodeJS.ProcessEnv;
  /** The file that gets the output. */
  log: string;
}

export type Program = ReturnType<typeof createProgram>;

export function createProgram({ command, cwd, port, env, log }: ProgramOptions) {
  let child: ChildProcess | undefined;

  /** Resolves when the program listens. @throws {SettingsError} with its last lines when it ends before, or takes a minute. */
  async function start(): Promise<void> {
    const output = openSync(log, "a");
    // A new process group, so that the processes that the command starts are killed too.
    const started = spawn(command, {
      cwd,
      shell: true,
      stdio: ["ignore", output, output],
      detached: true,
      env: { ...process.env, ...env, PATH: addBinaries(cwd), PORT: String(port) },
    });
    closeSync(output);
    child = started;
    process.once("exit", killGroup); // when the judge itself is stopped
    const deadlineMs = performance.now() + startTimeoutMs;
    while (!(await isListening(port))) {
      if (hasEnded(started) || performance.now() > deadlineMs) {
        const what = hasEnded(started) ? "ended" : "does not listen on PORT";
        await kill();
        throw new SettingsError(`"${command}" ${what}. Its last lines:\n${readLog().slice(-2_000)}`);
      }
      await pause(50);
    }
  }

  function killGroup(): void {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // no process of the group is left
    }
  }

  /** SIGKILL, as at a power failure. */
  async function kill(): Promise<void> {
    if (child === undefined) return;
    const ended = hasEnded(child) ? undefined : once(child, "exit");
    killGroup();
    process.off("exit", killGroup);
    await ended;
    while (await isListening(port)) await pause(10); // until the system has closed its sockets
  }

  const readLog = () => readFileSync(log, "utf8");

  return { start, kill, readLog, hasEnded: () => child !== undefined && hasEnded(child) };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** As npm does for its scripts: this Node, and the commands of the installed packages, here and in the folders above. */
function addBinaries(folder: string): string {
  const folders = [dirname(process.execPath)];
  for (let at = folder; at !== dirname(at); at = dirname(at)) folders.push(join(at, "node_modules/.bin"));
  return [...folders, process.env["PATH"]].join(delimiter);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
