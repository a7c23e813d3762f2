/**
 * Text that commands print. What comes from outside is escaped when it becomes part of a text, so
 * that it cannot control the terminal.
 */
import { stripVTControlCharacters, styleText } from "node:util";
import { escapeControls, formatNumber } from "@loyalty-cards/internal/format";

type Style = Parameters<typeof styleText>[0];

/** A part of a text. Control characters of a string are escaped; those of a `Text` are our own. */
export type Part = Text | string | number;

/**
 * One line of JSON. Its control characters are inside strings, where the escaped form has the same
 * meaning.
 */
export const formatJson = (value: unknown): string => escapeControls(JSON.stringify(value));

/**
 * Only the functions of this class create texts, so each line break and each style in a text was
 * written by a command.
 */
export class Text {
  readonly #value: string;

  private constructor(value: string) {
    this.#value = value;
  }

  static from(part: Part): Text {
    return part instanceof Text ? part : new Text(escapeControls(String(part)));
  }

  /** The tag of a template: its literal characters stay as they are, and its values are escaped. */
  static template(literals: TemplateStringsArray, ...parts: readonly Part[]): Text {
    return new Text(String.raw({ raw: literals }, ...parts.map(Text.from)));
  }

  static join(parts: readonly Part[], separator: Part): Text {
    return new Text(parts.map(Text.from).join(Text.from(separator).#value));
  }

  /** Joins the parts, one per line. */
  static lines(parts: readonly Part[]): Text {
    return new Text(parts.map(Text.from).join("\n"));
  }

  /**
   * Text with line breaks that a library formatted, such as a help text or indented JSON. Other
   * control characters are escaped.
   */
  static multiline(value: string): Text {
    return Text.lines(value.split("\n"));
  }

  static style(style: Style, part: Part): Text {
    return new Text(styleText(style, Text.from(part).#value, { validateStream: false }));
  }

  /** How many columns the text takes on one line. */
  get width(): number {
    return countColumns(this.#value);
  }

  /**
   * Breaks the lines that are longer than `width` between words; a longer word is not broken.
   * @param indentation of what follows a break; default: that of its line.
   */
  reflow(width: number, indentation?: string): Text {
    const lines = this.#value.split("\n").map((line) => {
      if (countColumns(line) <= width) return line;
      const [own = ""] = /^ */.exec(line) ?? [];
      const [first = "", ...words] = line.slice(own.length).split(" ");
      const parts = [own + first];
      for (const word of words) {
        const longer = `${parts.at(-1)} ${word}`;
        if (countColumns(longer) <= width) parts[parts.length - 1] = longer;
        else parts.push((indentation ?? own) + word);
      }
      return parts.join("\n");
    });
    return new Text(lines.join("\n"));
  }

  trimEnd(): Text {
    return new Text(this.#value.trimEnd());
  }

  /** What a terminal gets, or with `isPlain` a stream without styles. */
  format(isPlain: boolean): string {
    return isPlain ? stripVTControlCharacters(this.#value) : this.#value;
  }

  toString(): string {
    return this.#value;
  }
}

const countColumns = (line: string) => stripVTControlCharacters(line).length;

/** Creates a text: ``text`Card ${card.id}` ``. */
export const text = Text.template;

/** Styles are removed where the text is printed without colors. */
export const style = Text.style;

/** Columns of equal width, two spaces apart. Columns of numbers are aligned to the right. */
export function formatTable(rows: readonly (readonly Part[])[], header?: readonly string[]): Text {
  const all = (header === undefined ? rows : [header, ...rows]).map((row) => row.map(Text.from));
  const count = Math.max(0, ...all.map((row) => row.length));
  const columns = Array.from({ length: count }, (_, column) => ({
    width: Math.max(...all.map((row) => row[column]?.width ?? 0)),
    isNumber: rows.length > 0 && rows.every((row) => typeof row[column] === "number"),
  }));
  const lines = all.map((row) => {
    const cells = row.map((cell, column) => {
      const { width = 0, isNumber = false } = columns[column] ?? {};
      const padding = " ".repeat(width - cell.width);
      return isNumber ? text`${padding}${cell}` : text`${cell}${padding}`;
    });
    return Text.join(cells, "  ").trimEnd();
  });
  return Text.lines(lines);
}

/** The time of day on this machine: `12:31:07`. */
export const formatTime = (atMs: number): string => new Date(atMs).toTimeString().slice(0, 8);

/** The minute on this machine: `12:31`; on another day than today `Nov 28 12:31`. */
export function formatMoment(moment: Date): string {
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? formatMinute(moment) : formatDayAndMinute(moment);
}

/** `Nov 28 12:31`. */
export const formatDayAndMinute = (moment: Date): string =>
  `${moment.toLocaleDateString("en", { month: "short", day: "numeric" })} ${formatMinute(moment)}`;

const formatMinute = (moment: Date) => formatTime(moment.getTime()).slice(0, 5);

export const formatCount = (value: number, noun: string): string =>
  `${formatNumber(value)} ${noun}${value === 1 ? "" : "s"}`;
