/** The check of a list: reads all rows, and counts their problems. `import check FILE` prints them. */
import { resolve } from "node:path";
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { formatCount, formatNumber, formatTable, Text, text } from "../printable.ts";
import { type List, openList } from "./list.ts";
import {
  createIndex,
  type ListIndex,
  type MappingOptions,
  type Problem,
  parseMapping,
  type ReadRow,
  readRow,
} from "./rows.ts";

/** What was found in a list. */
export class Check {
  rows = 0;
  valid = 0;
  problems = 0;
  /** How many problems there are of each code. */
  readonly codes: Record<string, number> = {};

  add({ row, problems }: ReadRow): void {
    this.rows += 1;
    this.valid += row === undefined ? 0 : 1;
    this.problems += problems.length;
    for (const { code } of problems) this.codes[code] = (this.codes[code] ?? 0) + 1;
  }

  format(name: string): Text {
    const sorted = Object.entries(this.codes).sort(([, one], [, other]) => other - one);
    const table = sorted.map(([code, count]) => [`  ${code}`, formatNumber(count)]);
    const summary = `${name}: ${formatCount(this.rows, "row")}, ${formatNumber(this.valid)} valid, ${formatCount(this.problems, "problem")}`;
    return Text.lines([summary, ...(table.length > 0 ? [formatTable(table)] : [])]);
  }
}

/** Yields each row that was read. @param index gets the valid rows. @throws {CommandError} for a list that cannot be read as a whole. */
export async function* readRows(
  { print }: Context,
  list: List,
  options: MappingOptions,
  index: ListIndex,
): AsyncGenerator<ReadRow, void> {
  const columns = parseMapping(list, options);
  // These are names and not personal data: a file without a header was rejected.
  const unused = list.columns.filter((column) => column !== "" && ![...columns.values()].includes(column));
  if (unused.length > 0) print.info(`Columns that are not used: ${unused.join(", ")}`);
  const fields = [...columns.keys()].filter((target) => target.startsWith("field."));
  if (fields.length > 0)
    print.info(`Compare ${fields.join(", ")} with the template: only the service knows its fields.`);
  for await (const record of list.records) {
    if (record.line % 10_000 === 0) print.status(`Reading  line ${formatNumber(record.line)}`);
    yield readRow(record, columns, options, index);
  }
  print.status(undefined);
}

/** `import check FILE`. */
export async function checkFile(context: Context, options: MappingOptions, file: string): Promise<number> {
  const { print, terminal } = context;
  const list = await openList(resolve(terminal.cwd, file));
  const check = new Check();
  for await (const row of readRows(context, list, options, createIndex())) {
    check.add(row);
    for (const problem of row.problems) print.data(problem, () => formatProblem(problem, print.dataColumns));
  }
  print.data({ summary: check }, () => check.format(list.name).reflow(print.dataColumns));
  return check.problems > 0 ? exitCodes.failed : exitCodes.complete;
}

/** Formats a problem as `line:column` and its message. @param columns the width of the terminal. */
export const formatProblem = ({ line, column, message }: Problem, columns: number): Text =>
  text`${`${line}:${column}`.padEnd(10)} ${message}`.reflow(columns, " ".repeat(11));
