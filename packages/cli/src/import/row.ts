/**
 * One row of a list: its values by their targets, and its problems, such as what spreadsheets and
 * exports of databases have done to a value. They never quote it: it can be personal data.
 */
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import type { ListRecord } from "./list.ts";
import type { Mapping, Target } from "./mapping.ts";

/** A valid row. */
export interface ImportRow {
  userId: string;
  request: IssueCardRequest;
}

/** What is wrong with a value or a row. */
interface ValueProblem {
  code: string;
  /** What is wrong, without its subject. */
  message: string;
  /** The message without what differs from row to row; absent when nothing differs. */
  cause?: string;
}

export interface RowProblem extends ValueProblem {
  /** Where the value begins, or the record for a problem of the whole row. Both count from 1. */
  line: number;
  character: number;
  /** The name of the column of the list; undefined for a problem of the whole row. */
  column: string | undefined;
  /** The target of the value; undefined for a problem of the whole row. */
  target: Target | undefined;
}

interface Damage extends ValueProblem {
  pattern: RegExp;
}

/** What spreadsheets and exports of databases make of a value. */
const damages: readonly Damage[] = [
  {
    // `4E10` can be an id; `4E+10` and `4.1E10` are numbers.
    code: "scientific-notation",
    pattern: /^[+-]?\d(?:E[+-]|[.,]\d+E[+-]?)\d+$/i,
    message: "is in scientific notation: a spreadsheet changed it",
  },
  {
    code: "formula",
    pattern: /^="[^"]*"$/,
    message: 'is a formula (="…"): export the value without it',
  },
  {
    code: "spreadsheet-error",
    pattern: /^#(?:N\/A|[A-Z/0]+[!?])$/,
    message: "is an error value of a spreadsheet",
  },
  {
    code: "null-text",
    pattern: /^(?:NULL|null|\\N|undefined)$/,
    message: "is a text for an absent value: leave it empty",
  },
  {
    code: "lost-characters",
    pattern: /\ufffd/,
    message: "has lost characters (U+FFFD): export it again as UTF-8",
  },
];

/** What they make of an id or a phone. */
export const idDamages: readonly Damage[] = [
  ...damages,
  {
    code: "decimal",
    pattern: /^\+?\d+[.,]0+$/,
    message: "ends with .0: a program read the column as numbers, so export it as text",
  },
  {
    code: "quote-mark",
    pattern: /^'/,
    message: "begins with the quote mark that a spreadsheet uses for text: remove it",
  },
];

const notText: ValueProblem = { code: "not-text", message: "must be a text" };

/** The text of a value. An object or a list has none: `String` calls its member `toString`. */
export const toText = (value: unknown): string => (typeof value === "object" ? "" : String(value));

export class Row {
  readonly line: number;
  readonly mapping: Mapping;
  readonly problems: RowProblem[] = [];
  readonly #record: ListRecord;

  constructor(record: ListRecord, mapping: Mapping) {
    this.line = record.line;
    this.mapping = mapping;
    this.#record = record;
  }

  /** @param target that of the value; undefined for a problem of the whole row. */
  addProblem({ message, ...problem }: ValueProblem, target?: Target): void {
    const column = target && this.mapping.get(target);
    const position = this.#record.locate(column);
    const subject = target ?? "the row";
    this.problems.push({
      ...problem,
      ...position,
      column,
      target,
      message: `${subject} ${message}`,
    });
  }

  /** Returns a value as it stands in the record. It is empty when there is none. */
  getValue(target: Target): unknown {
    const column = this.mapping.get(target);
    // A column can have the empty name, such as that of the row numbers of pandas.
    return column === undefined ? "" : (this.#record.values.get(column) ?? "");
  }

  /**
   * Reads a value as text, without the space around it.
   * @returns undefined for a value with a problem, which is added.
   */
  readText(target: Target, known: readonly Damage[] = damages): string | undefined {
    const value = this.getValue(target);
    const text = toText(value).trim();
    const isInexact = typeof value === "number" && !Number.isSafeInteger(value);
    const isText = typeof value !== "object" && !isInexact;
    const found = isText ? known.find(({ pattern }) => pattern.test(text)) : notText;
    if (found === undefined) return text;
    this.addProblem({ code: found.code, message: found.message }, target);
    return undefined;
  }
}
