/** What a command uses of its process: streams, environment, folder, and Ctrl-C. An argument, so that tests run commands without a process. */
import { watchParent } from "@loyalty-cards/internal/node-parent";

/** A stream to write to; `isTTY`, `columns` and `rows` as Node.js has them. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface Terminal {
  stdin: AsyncIterable<Uint8Array> & {
    readonly isTTY?: boolean | undefined;
    /** Keeps the process running while a read is waiting, as a question does. */
    ref?(): unknown;
    /** Lets the process end while a read is waiting. */
    unref?(): unknown;
  };
  stdout: OutputStream;
  stderr: OutputStream;
  env: Readonly<Record<string, string | undefined>>;
  /** The working folder, which file arguments are relative to. */
  cwd: string;
  /** Calls the listener at Ctrl-C and SIGTERM, which end the process when there is no listener. @returns a function that removes it. */
  onInterrupt(listener: () => void): () => void;
}

const signals = ["SIGINT", "SIGTERM"] as const;

export const processTerminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  onInterrupt(listener) {
    for (const signal of signals) process.on(signal, listener);
    return () => {
      for (const signal of signals) process.off(signal, listener);
    };
  },
};

/** Resolves at Ctrl-C and SIGTERM, and when npm has ended. A second Ctrl-C ends the process at once. */
export function waitForStop(terminal: Pick<Terminal, "onInterrupt">): Promise<void> {
  return new Promise((stop) => {
    const remove = terminal.onInterrupt(() => {
      remove();
      stop();
    });
    watchParent(stop);
  });
}
