/**
 * The values of one record by their targets, and what spreadsheets and exports of databases have
 * done to them. Problems never quote a value: it can be personal data.
 */
import type { Result } from "@loyalty-cards/internal/result";
import type { ListRecord } from "./list.ts";
import type { Mapping, Target } from "./mapping.ts";

export interface RowProblem {
  /** Where the value begins, or the record for a problem of the whole row. Both count from 1. */
  line: number;
  character: number;
  /** The name of the column of the list; undefined for a problem of the whole row. */
  column: string | undefined;
  code: string;
  /** The target of the value; undefined for a problem of the whole row. */
  target: Target | undefined;
  message: string;
  /** The message without what differs from row to row; absent when nothing differs. */
  cause?: string;
}

/** A part of a row, or all that is wrong with it. */
export type FieldReading<Value> = Result<Value, readonly RowProblem[]>;

/** A record, and which of its values is what. */
export interface MappedRecord {
  record: ListRecord;
  mapping: Mapping;
}

/** @param message what is wrong, without its subject. */
export function toProblem(
  { record, mapping }: MappedRecord,
  code: string,
  message: string,
  target?: Target,
): RowProblem {
  const column = target && mapping.get(target);
  return {
    ...record.locate(column),
    column,
    code,
    target,
    message: `${target ?? "the row"} ${message}`,
  };
}

/** Reads a value as it stands in the record. It is empty when there is none. */
export function readValue({ record, mapping }: MappedRecord, target: Target): unknown {
  const column = mapping.get(target);
  // A column can have the empty name, such as that of the row numbers of pandas.
  return column === undefined ? "" : (record.values.get(column) ?? "");
}

interface Damage {
  code: string;
  pattern: RegExp;
  message: string;
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
    pattern: /^(?:NULL|\\N|undefined)$/,
    message: "is a text for an absent value: leave it empty",
  },
  {
    code: "lost-characters",
    pattern: /\ufffd/,
    message: "has lost characters (U+FFFD): export it again as UTF-8",
  },
];

/** What spreadsheets and exports of databases make of an id or a phone. */
const idDamages: readonly Damage[] = [
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

/** Reads an id or a phone as text, without the space around it. */
export const readIdentifierText = (mapped: MappedRecord, target: Target): FieldReading<string> =>
  readText(mapped, target, [...damages, ...idDamages]);

/** Reads a value as text, without the space around it. */
export function readText(
  mapped: MappedRecord,
  target: Target,
  damaged: readonly Damage[] = damages,
): FieldReading<string> {
  const value = readValue(mapped, target);
  const text = String(value).trim();
  const problems: RowProblem[] = [];
  const isInexact = typeof value === "number" && !Number.isSafeInteger(value);
  if (typeof value === "object" || isInexact)
    problems.push(toProblem(mapped, "not-text", "must be a text", target));
  const damage = damaged.find(({ pattern }) => pattern.test(text));
  if (damage !== undefined) problems.push(toProblem(mapped, damage.code, damage.message, target));
  return problems.length > 0 ? { failure: problems } : { value: text };
}

type FieldReadings<Values> = { readonly [Name in keyof Values]: FieldReading<Values[Name]> };

/**
 * @param others more problems of the same row.
 * @returns the values of all readings, or all problems.
 */
export function combine<Values extends object>(
  readings: FieldReadings<Values>,
  others: readonly RowProblem[] = [],
): FieldReading<Values> {
  const entries = Object.entries<FieldReading<unknown>>(readings);
  const problems = [...entries.flatMap(([, { failure = [] }]) => failure), ...others];
  if (problems.length > 0) return { failure: problems };
  return { value: Object.fromEntries(entries.map(([name, { value }]) => [name, value])) as Values };
}
