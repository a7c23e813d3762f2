/** A server in a separate process, which a crash test kills and starts again. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * @param argument settings, which the program gets as JSON. It must listen on `port`, and print a
 * line when it does.
 */
export function createRestartedProcess(
  program: string,
  argument: { port: number; [setting: string]: unknown },
  maxRefusedStarts: number,
  node = process.execPath,
) {
  let child: ChildProcess | undefined;
  let isEnding = false;
  let isListening = false;
  let crashes = 0;
  let refusedStarts = 0;
  let output = "";

  /**
   * @returns whether the program listens. It exits when Redis or PostgreSQL is unavailable at its
   * start, as expected.
   */
  function attemptStart(): Promise<boolean> {
    const started = spawn(node, [program, JSON.stringify(argument)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child = started;
    isEnding = false;
    output = "";
    started.stderr.on("data", (chunk) => {
      output += chunk;
    });
    return new Promise((resolve) => {
      createInterface({ input: started.stdout }).once("line", () => {
        isListening = true;
        resolve(true);
      });
      started.once("exit", (code) => {
        resolve(false);
        const hadStarted = isListening;
        isListening = false;
        if (!hadStarted || isEnding) return;
        crashes += 1; // after its start no failure may end it
        console.error(`a process exited with ${code}: ${output}`);
      });
    });
  }

  return {
    port: argument.port,
    /** How often it ended by itself. */
    crashes: () => crashes,
    refusedStarts: () => refusedStarts,
    isListening: () => isListening,
    async start(): Promise<void> {
      while (!(await attemptStart())) {
        refusedStarts += 1;
        if (refusedStarts > maxRefusedStarts)
          throw new Error(`The process does not start: ${output}`);
      }
    },
    async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
      if (!isListening) return;
      const exited = new Promise((resolve) => child?.once("exit", resolve));
      isEnding = true;
      isListening = false;
      child?.kill(signal);
      await exited;
    },
  };
}
