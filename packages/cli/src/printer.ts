/** What a command prints: data on stdout, as text or JSON, and messages for people on stderr. */
import { stripVTControlCharacters, styleText } from "node:util";
import type { OutputStream, Terminal } from "./terminal.ts";

export interface PrintOptions {
  json?: boolean;
  quiet?: boolean;
  /** commander's name of `--no-color`. */
  color?: boolean;
}

type Style = Parameters<typeof styleText>[0];

export class Printer {
  readonly isJson: boolean;
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  readonly #hasColor: (stream: OutputStream) => boolean;
  #statusLines = 0;

  constructor(terminal: Terminal, { json = false, quiet = false, color = true }: PrintOptions) {
    this.#terminal = terminal;
    this.isJson = json;
    this.#isQuiet = quiet;
    const { NO_COLOR, FORCE_COLOR, TERM } = terminal.env;
    const isAllowed = color && !NO_COLOR && TERM !== "dumb" && FORCE_COLOR !== "0";
    this.#hasColor = (stream) => isAllowed && (FORCE_COLOR !== undefined || stream.isTTY === true);
  }

  /** The width of the terminal; 80 when the output is a file or a pipe. */
  get columns(): number {
    return this.#terminal.stderr.columns || 80; // a terminal without a size has 0
  }

  /** Whether a status line can be replaced. */
  get isLive(): boolean {
    const { stderr, env } = this.#terminal;
    return stderr.isTTY === true && env["TERM"] !== "dumb" && !this.#isQuiet;
  }

  /** Data: with `--json` the value as one line of JSON, otherwise the text. */
  data(value: unknown, text: () => string): void {
    this.#write(this.#terminal.stdout, this.isJson ? JSON.stringify(value) : text());
  }

  /** A message for people; not with `--quiet`. */
  info(text: string): void {
    if (!this.#isQuiet) this.#write(this.#terminal.stderr, text);
  }

  /** Also with `--quiet`. */
  error(text: string): void {
    this.#write(this.#terminal.stderr, text);
  }

  /** Replaces the last status on a terminal; `undefined` removes it. Without a terminal it prints nothing. */
  status(text: string | undefined): void {
    if (!this.isLive) return;
    this.#clearStatus();
    if (text === undefined) return;
    // A line that wraps could not be removed.
    const lines = text.split("\n").map((line) => truncate(line, this.columns - 1));
    const { stderr } = this.#terminal;
    stderr.write(this.#toLines(stderr, lines.join("\n")));
    this.#statusLines = lines.length;
  }

  /** Styles are removed where the text is printed without colors. */
  style(style: Style, text: string): string {
    return styleText(style, text, { validateStream: false });
  }

  #write(stream: OutputStream, text: string): void {
    this.#clearStatus();
    stream.write(this.#toLines(stream, text));
  }

  #toLines(stream: OutputStream, text: string): string {
    return `${this.#hasColor(stream) ? text : stripVTControlCharacters(text)}\n`;
  }

  #clearStatus(): void {
    // \r: the terminal prints "^C" where the cursor is.
    if (this.#statusLines > 0)
      this.#terminal.stderr.write(`\r${"\u001b[1A\u001b[2K".repeat(this.#statusLines)}`);
    this.#statusLines = 0;
  }
}

function truncate(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= width ? line : `${plain.slice(0, Math.max(0, width - 1))}…`;
}

/** Columns of equal width, two spaces apart. Columns of numbers are aligned to the right. */
export function formatTable(
  rows: readonly (readonly (string | number)[])[],
  header?: readonly string[],
): string {
  const all = header === undefined ? rows : [header, ...rows];
  const count = Math.max(0, ...all.map((row) => row.length));
  const columns = Array.from({ length: count }, (_, column) => ({
    width: Math.max(...all.map((row) => stripVTControlCharacters(String(row[column] ?? "")).length)),
    isNumber: rows.length > 0 && rows.every((row) => typeof row[column] === "number"),
  }));
  return all
    .map((row) =>
      columns
        .map(({ width, isNumber }, column) => {
          const text = String(row[column] ?? "");
          const padding = " ".repeat(width - stripVTControlCharacters(text).length);
          return isNumber ? padding + text : text + padding;
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
