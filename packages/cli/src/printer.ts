/** What a command prints: data on stdout, as text or JSON, and messages for people on stderr. Nothing else writes to the streams. */

import { formatJson, type Part, Text, text } from "./printable.ts";
import type { OutputStream, Terminal } from "./terminal.ts";

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

  constructor(terminal: Terminal, { json = false, quiet = false, color = true }: PrintOptions = {}) {
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

  /** How many lines of messages the terminal shows; unlimited in a file or a pipe. */
  get messageRows(): number {
    const { isTTY, rows } = this.#terminal.stderr;
    return isTTY ? rows || 24 : Number.POSITIVE_INFINITY;
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

  /** Data: with `--json` the value as one line of JSON, otherwise the text. */
  data(value: unknown, format: () => Part): void {
    this.#write(this.#terminal.stdout, text`${this.isJson ? formatJson(value) : format()}\n`);
  }

  /** Prints a message for people, except with `--quiet`. */
  info(message: Part): void {
    if (!this.#isQuiet) this.error(message);
  }

  /** Prints an error, also with `--quiet`. A string wraps at the width of the terminal; a text has its own lines. */
  error(message: Part): void {
    this.#write(this.#terminal.stderr, text`${this.#wrap(message)}\n`);
  }

  /** A question, which the reply follows on the same line. */
  question(message: Part): void {
    this.#write(this.#terminal.stderr, text`${this.#wrap(message)} `);
  }

  /** Replaces the last status on a terminal; `undefined` removes it. Without a terminal it prints nothing. */
  status(message: Part | undefined): void {
    if (!this.isLive) return;
    this.#clearStatus();
    if (message === undefined) return;
    // A line that wraps could not be removed.
    const status = Text.from(message).truncate(this.columns - 1);
    this.#write(this.#terminal.stderr, text`${status}\n`);
    this.#statusLines = status.toString().split("\n").length;
  }

  #wrap(message: Part): Text {
    return typeof message === "string" ? Text.from(message).reflow(this.messageColumns) : Text.from(message);
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
