/** Runs another command as a process: passes signals to it and its descendants, and returns its exit code. */
import { execFileSync, spawn } from "node:child_process";
import { constants } from "node:os";
import { watchParent } from "@loyalty-cards/internal/node-parent";
import { CommandError } from "./command-error.ts";

const forwarded = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

/**
 * Runs a command with the streams of this process, and passes signals to it.
 * @param variables added to the environment of this process.
 * @returns the command's exit code; 128 and the signal's number when a signal ended it, as shells do.
 * @throws {CommandError} with exit code 127 when the command does not exist, and 126 when it is not a program, as shells do.
 */
export function runProcess(
  [command = "", ...args]: readonly string[],
  variables: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: "inherit",
      env: { ...process.env, ...variables },
      shell: process.platform === "win32", // on Windows npm and npx are scripts, which need a shell
    });
    /** The processes that the command had started when it received the signal. */
    let descendants: number[] = [];
    const pass = (signal: NodeJS.Signals) => {
      // The terminal has sent Ctrl-C to the command already; a second signal would end many programs at once.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      descendants = child.pid === undefined ? [] : findDescendants(child.pid);
      child.kill(signal);
    };
    watchParent(() => pass("SIGTERM"));
    for (const signal of forwarded) process.on(signal, pass);
    const stopForwarding = () => {
      for (const signal of forwarded) process.off(signal, pass);
    };
    child.once("error", ({ code, message }: NodeJS.ErrnoException) => {
      stopForwarding();
      reject(
        new CommandError(`The command cannot be run: ${message}.`, {
          exitCode: code === "ENOENT" ? 127 : 126,
        }),
      );
    });
    child.once("exit", (code, signal) => {
      stopForwarding();
      for (const id of descendants) terminate(id); // npm does not end the processes that it started
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

/** Returns an empty list where `ps` does not exist. */
function findDescendants(parentId: number): number[] {
  let rows: number[][] = [];
  try {
    const text = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8", stdio: "pipe" });
    rows = text.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  } catch {
    return [];
  }
  const ids = [parentId];
  for (const id of ids) for (const [child = 0, parent] of rows) if (parent === id) ids.push(child);
  return ids.slice(1);
}

function terminate(id: number): void {
  try {
    process.kill(id, "SIGTERM");
  } catch {
    // the process has ended
  }
}
