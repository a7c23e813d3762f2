/**
 * What a command uses of its process, as an argument: streams, environment, folder and Ctrl-C. And
 * what it prints: data on stdout, as text or JSON, and messages for people on stderr. Nothing else
 * writes to the streams.
 */
import { watchParent } from "@loyalty-cards/internal/node-parent";
import { formatJson, type Part, Text, text } from "./printable.ts";

/** A stream to write to; `isTTY` and `columns` as Node.js has them. */
interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
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
  /**
   * Calls the listener at Ctrl-C and SIGTERM, which end the process when there is no listener.
   * @returns a function that removes it.
   */
  onInterrupt(listener: () => void): () => void;
}

const signals = ["SIGINT", "SIGTERM"] as const;

export const processTerminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  /** Throws when the folder was deleted, which matters to commands that use it only. */
  get cwd() {
    return process.cwd();
  },
  onInterrupt(listener) {
    for (const signal of signals) process.on(signal, listener);
    return () => {
      for (const signal of signals) process.off(signal, listener);
    };
  },
};

/**
 * Resolves at Ctrl-C and SIGTERM, and when npm has ended. A second Ctrl-C ends the process at once.
 */
export function waitForStop(terminal: Pick<Terminal, "onInterrupt">): Promise<void> {
  return new Promise((stop) => {
    const remove = terminal.onInterrupt(() => {
      remove();
      stop();
    });
    watchParent(stop);
  });
}

export interface PrintOptions {
  json?: boolean;
  quiet?: boolean;
  /** commander's name of `--no-color`. */
  color?: boolean;
}

export class Printer {
  readonly isJson: boolean;
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  readonly #hasColor: (stream: OutputStream) => boolean;
  #statusLines = 0;

  constructor(
    terminal: Terminal,
    { json = false, quiet = false, color = true }: PrintOptions = {},
  ) {
    this.#terminal = terminal;
    this.isJson = json;
    this.#isQuiet = quiet;
    const { NO_COLOR, FORCE_COLOR, TERM } = terminal.env;
    const isAllowed = color && !NO_COLOR && TERM !== "dumb" && FORCE_COLOR !== "0";
    this.#hasColor = (stream) => isAllowed && (FORCE_COLOR !== undefined || stream.isTTY === true);
  }

  /** The width of the terminal; 80 when the output is a file or a pipe. */
  get columns(): number {
    return this.#terminal.stderr.columns || 80; // a terminal without a size has 0 columns
  }

  /** The width of messages; unlimited when they go to a file or a pipe. */
  get messageColumns(): number {
    return this.#terminal.stderr.isTTY ? this.columns : Number.POSITIVE_INFINITY;
  }

  /** The width of data; unlimited when it goes to a file or a pipe. */
  get dataColumns(): number {
    return this.#terminal.stdout.isTTY ? this.columns : Number.POSITIVE_INFINITY;
  }

  /** Whether a status line can be replaced. */
  get isLive(): boolean {
    const { stderr, env } = this.#terminal;
    return stderr.isTTY === true && env["TERM"] !== "dumb" && !this.#isQuiet;
  }

  /** Prints data: with `--json` the value as one line of JSON, otherwise the text. */
  data(value: unknown, format: () => Part): void {
    this.#write(this.#terminal.stdout, text`${this.isJson ? formatJson(value) : format()}\n`);
  }

  /** Prints a message for people, except with `--quiet`. */
  info(message: Part): void {
    if (!this.#isQuiet) this.error(message);
  }

  /**
   * Prints an error, also with `--quiet`. A string wraps at the width of the terminal; a text has
   * its own lines.
   */
  error(message: Part): void {
    const wrapped =
      typeof message === "string" ? Text.from(message).reflow(this.messageColumns) : message;
    this.#write(this.#terminal.stderr, text`${wrapped}\n`);
  }

  /**
   * Replaces the last status on a terminal; `undefined` removes it. Without a terminal it prints
   * nothing.
   */
  status(message: Part | undefined): void {
    if (!this.isLive) return;
    this.#clearStatus();
    if (message === undefined) return;
    // A line that wraps could not be removed.
    const status = Text.from(message).reflow(this.columns - 1);
    this.#write(this.#terminal.stderr, text`${status}\n`);
    this.#statusLines = status.toString().split("\n").length;
  }

  #write(stream: OutputStream, written: Text): void {
    this.#clearStatus();
    stream.write(written.format(!this.#hasColor(stream)));
  }

  #clearStatus(): void {
    // \r: the terminal prints "^C" where the cursor is.
    if (this.#statusLines > 0)
      this.#terminal.stderr.write(`\r${"\u001b[1A\u001b[2K".repeat(this.#statusLines)}`);
    this.#statusLines = 0;
  }
}
