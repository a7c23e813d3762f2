/** Checks a whole file: validates each row and sends nothing. */
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { formatCount, formatNumber, formatTable, type Part, Text, text } from "../printable.ts";
import type { Input, Reading, Source } from "./files.ts";
import { findUnusedColumns, type Mapping } from "./mapping.ts";
import type { SourceRecord } from "./records.ts";
import { type Problem, type ReadRow, RowReader } from "./rows.ts";
import { damageCodes } from "./values.ts";

export interface CheckResult {
  rows: number;
  /** Rows without a problem. */
  valid: number;
  problems: number;
  warnings: number;
  /** How many problems and warnings there are of each code. */
  codes: Record<string, number>;
}

export interface CheckOptions {
  /** False with `--no-damage-check`. */
  damageCheck?: boolean;
  allowSamePerson?: boolean;
  /** Checks only this many rows, the first of the file. */
  limit?: number;
  skipInvalid?: boolean;
}

interface CheckListeners {
  /** Called for each problem and warning, in the order of the file. */
  onProblem: (problem: Problem) => void;
  /** Called with each row. */
  onRow: (record: SourceRecord, read: ReadRow) => void | Promise<void>;
}

/** A list that is being read. */
export interface List {
  input: Input;
  source: Source;
  mapping: Mapping;
  reading: Reading;
}

/** The maximum number of problems that are printed. `import check` prints all of them. */
const maxPrintedProblems = 20;

/** Reads the list, and prints its first problems and what the import will do. */
export async function checkBefore(
  context: Context,
  options: CheckOptions,
  list: List,
  onRow: CheckListeners["onRow"],
): Promise<CheckResult> {
  const { print } = context;
  const { path, name } = list.input;
  let printed = 0;
  const onProblem = (problem: Problem) => {
    if (++printed <= maxPrintedProblems)
      print.info(formatProblem(problem, print.isLive ? print.columns : Number.POSITIVE_INFINITY));
  };
  const result = await checkList(context, options, list, { onProblem, onRow });
  if (printed > maxPrintedProblems)
    print.info(`… and ${formatNumber(printed - maxPrintedProblems)} more: see loyalty-cards import check`);
  print.info(formatCheck(name, result).reflow(print.messageColumns));
  if (result.problems > 0) {
    print.info(
      options.skipInvalid || path === "-"
        ? "Rows with problems are rejected."
        : "Nothing was sent. Correct the rows, or use --skip-invalid to import the others.",
    );
  }
  return result;
}

/** @throws {CommandError} for a file that cannot be read as a whole, and when the reading is interrupted. */
export async function checkList(
  { print }: Context,
  { limit = Number.POSITIVE_INFINITY, damageCheck = true, allowSamePerson = false }: CheckOptions,
  { input, source, mapping, reading }: List,
  { onProblem, onRow }: CheckListeners,
): Promise<CheckResult> {
  const { format, columns, records } = source.records;
  const unused = findUnusedColumns(source.records, mapping);
  // These are names and not personal data: a file without a header was rejected before.
  if (unused.length > 0) print.info(`Columns that are not used: ${unused.join(", ")}`);
  const result: CheckResult = { rows: 0, valid: 0, problems: 0, warnings: 0, codes: {} };
  const report = (problem: Problem) => {
    result[problem.severity === "problem" ? "problems" : "warnings"]++;
    result.codes[problem.code] = (result.codes[problem.code] ?? 0) + 1;
    onProblem(problem);
  };
  const unseen = new Set(format === "ndjson" ? mapping.columns.values() : []);
  for (const column of columns) unseen.delete(column);
  const reader = new RowReader(mapping, { checkDamage: damageCheck, allowSamePerson });
  try {
    for await (const record of records) {
      if (result.rows >= limit) break;
      const read = reader.read(record);
      if (read.row !== undefined) result.valid++;
      for (const problem of read.problems) report(problem);
      for (const column of unseen) if (record.read(column) !== undefined) unseen.delete(column);
      reading.signal.throwIfAborted();
      if (++result.rows % 10_000 === 0) print.status(`Reading  ${formatNumber(result.rows)} rows`);
      await onRow(record, read);
    }
    if (result.rows === 0) throw new CommandError(`${input.name} has a header and no rows.`);
    for (const problem of reader.finish()) report(problem);
  } finally {
    print.status(undefined);
    reader.close();
  }
  for (const column of unseen) {
    const message = `no record has the member ${JSON.stringify(column)}, which is mapped`;
    report({ line: 1, column: 1, severity: "problem", code: "unknown-column", message });
  }
  return result;
}

/** Formats a problem as `line:column` and its message. @param columns the width of the terminal. */
export function formatProblem({ line, column, severity, message }: Problem, columns: number): Text {
  const shown = severity === "warning" ? `warning: ${message}` : message;
  return text`${`${line}:${column}`.padEnd(10)} ${shown}`.reflow(columns, " ".repeat(11));
}

export function formatCheck(name: string, { rows, valid, problems, warnings, codes }: CheckResult): Text {
  const list = Object.entries(codes)
    .sort(([, one], [, other]) => other - one)
    .map(([code, count]) => [`  ${code}`, formatNumber(count)]);
  const lines: Part[] = [
    `${name}: ${formatCount(rows, "row")}, ${formatNumber(valid)} valid, ${formatCount(problems, "problem")}, ${formatCount(warnings, "warning")}`,
  ];
  if (list.length > 0) lines.push(formatTable(list));
  if (damageCodes.some((code) => code in codes))
    lines.push(
      "Spreadsheets damage ids and phones: format these columns as text there, and",
      "export again. If the values are right, use --no-damage-check.",
    );
  return Text.lines(lines);
}
