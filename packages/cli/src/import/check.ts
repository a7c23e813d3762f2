/** `import check FILE`, and the summary of a list: its rows, and their problems in groups. */
import { formatNumber } from "@loyalty-cards/internal/format";
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { formatCount, style, Text, text } from "../printable.ts";
import { openListFile } from "./list.ts";
import { createIndex } from "./list-index.ts";
import type { MappingOptions } from "./mapping.ts";
import { readRows } from "./read-row.ts";
import type { RowProblem } from "./row.ts";

/** The rows with one problem. */
interface Group {
  rows: number;
  /** The first problems of the group. */
  problems: RowProblem[];
}

/** How many rows with one problem are named. */
const maxNamedRows = 5;

export class ListSummary {
  rows = 0;
  valid = 0;
  problems = 0;
  /** How many problems there are of each code. */
  readonly codes: Record<string, number> = {};
  readonly #groups = new Map<string, Group>();

  /** @param problems those of one row. */
  add(problems: readonly RowProblem[]): void {
    this.rows += 1;
    if (problems.length === 0) this.valid += 1;
    this.problems += problems.length;
    for (const problem of problems) {
      const { code, message, cause = message } = problem;
      this.codes[code] = (this.codes[code] ?? 0) + 1;
      const group = this.#groups.get(cause) ?? { rows: 0, problems: [] };
      group.rows += 1;
      if (group.rows <= maxNamedRows) group.problems.push(problem);
      this.#groups.set(cause, group);
    }
  }

  /** @param width that of the terminal, in characters. */
  format(name: string, width: number): Text {
    const counts = `${name}: ${formatCount(this.rows, "row")}, ${formatNumber(this.valid)} valid, ${formatCount(this.problems, "problem")}`;
    const groups = [...this.#groups].sort(([, one], [, other]) => other.rows - one.rows);
    const labels = groups.map(([, { rows }]) => `${formatCount(rows, "row")}: `);
    const labelWidth = Math.max(0, ...labels.map((label) => label.length));
    const lines = groups.map(([cause, group], index) => {
      const label = labels[index]?.padEnd(labelWidth) ?? "";
      const line = text`${mark} ${label}${formatGroup(cause, group)}`;
      return line.reflow(width, " ".repeat(labelWidth + 2));
    });
    if (groups.some(([, { rows }]) => rows > maxNamedRows))
      lines.push(text`\`import check --json\` prints each problem.`);
    return Text.lines([Text.from(counts).reflow(width), ...lines]);
  }
}

const mark = style("red", "✗");

/**
 * `line 4, column "mobile": phone is not a phone number`; of several rows `phone is not a phone
 * number, column "mobile", lines 4, 9, 12, 20, 31 …`.
 */
function formatGroup(cause: string, { rows, problems }: Group): string {
  const [first] = problems;
  if (first === undefined) return cause;
  const { line, column, target, message } = first;
  // A column that is named like its target is in the message already.
  const isNamed = column !== undefined && column !== target;
  const named = isNamed ? `, column ${JSON.stringify(column)}` : "";
  if (rows === 1) return `line ${line}${named}: ${message}`;
  const lines = problems.map((one) => one.line).join(", ");
  return `${cause}${named}, lines ${lines}${rows > problems.length ? " …" : ""}`;
}

/** `import check FILE`. */
export async function checkFile(
  context: Context,
  options: MappingOptions,
  file: string,
): Promise<number> {
  const { print, terminal } = context;
  const list = await openListFile(terminal, file);
  const summary = new ListSummary();
  const index = createIndex();
  try {
    for await (const { failure } of readRows(context, list, options, index)) {
      const problems = failure?.problems ?? [];
      summary.add(problems);
      if (!print.isJson) continue;
      for (const { cause: _, ...problem } of problems) print.data(problem, () => "");
    }
  } finally {
    index.close();
  }
  print.data({ summary }, () => summary.format(list.name, print.dataColumns));
  return summary.problems > 0 ? exitCodes.failed : exitCodes.complete;
}
