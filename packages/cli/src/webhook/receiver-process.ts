/** A receiver that the doctor starts, kills and starts again, to examine what survives. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { CommandError } from "../command-error.ts";

export interface ReceiverProcess {
  /** Kills the command and all that it started (SIGKILL), and starts it again. */
  restart(): Promise<void>;
  kill(): Promise<void>;
}

export interface StartOptions {
  /** The command line, which a shell runs. */
  command: string;
  /** The address of the receiver, which has started when something listens there. */
  url: URL;
  cwd: string;
  signal: AbortSignal;
}

const startTimeoutMs = 60_000;
const isWindows = process.platform === "win32";

/** @throws {CommandError} when the command ends, or does not listen within a minute. */
export async function startReceiver({ command, url, cwd, signal }: StartOptions): Promise<ReceiverProcess> {
  if (await isListening(url))
    throw new CommandError(
      `Something listens at ${url.origin} already: stop it, because --run starts the receiver itself.`,
    );
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    // A new process group, so that the processes that the command starts are killed too.
    const started = spawn(command, { cwd, shell: true, stdio: "ignore", detached: !isWindows });
    child = started;
    const deadlineMs = performance.now() + startTimeoutMs;
    while (!(await isListening(url))) {
      signal.throwIfAborted();
      if (hasEnded(started))
        throw new CommandError(
          `The command of --run ended with ${started.exitCode ?? started.signalCode}: run it by hand to see why.`,
        );
      if (performance.now() > deadlineMs)
        throw new CommandError(`The command of --run does not listen at ${url.origin}.`);
      await pause(50);
    }
  }

  async function kill(): Promise<void> {
    if (child?.pid === undefined || hasEnded(child)) return;
    const ended = once(child, "exit");
    if (isWindows) execFileSync("taskkill", ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore" });
    else process.kill(-child.pid, "SIGKILL");
    await ended;
  }

  try {
    await start();
  } catch (error) {
    await kill();
    throw error;
  }
  return {
    kill,
    async restart() {
      await kill();
      await start();
    },
  };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

function isListening({ hostname, port, protocol }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port || (protocol === "https:" ? 443 : 80)),
    });
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.on("close", () => resolve(false));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once("connect", () => socket.destroy());
  });
}

/** Runs a command of `--restart`. Rejects unless it exits with 0. */
export async function runShell(command: string, cwd: string): Promise<void> {
  const child = spawn(command, { cwd, shell: true, stdio: "ignore" });
  const [exitCode] = await once(child, "exit");
  if (exitCode !== 0) throw new Error(`the command exited with ${exitCode}`);
}
