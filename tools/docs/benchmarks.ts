/** Writes docs/benchmarks.md and the plots of docs/diagrams/benchmarks from the results of `npm run bench`. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../published.ts";
import { renderPlot } from "./benchmark-plots.ts";

/** First quartile, median and third quartile. */
export type Quartiles = readonly [number, number, number];

export interface Row {
  /** The variant. */
  name: string;
  figures: Readonly<Record<string, { value: Quartiles; ratio?: Quartiles; difference?: Quartiles }>>;
}

/** The contents of benchmarks/results/NAME.json. */
export interface Result {
  /** The commit that was measured, with `+` if the tree had changes. */
  commit?: string;
  date: string;
  seconds: number;
  machine: string;
  versions: Readonly<Record<string, string>>;
  panels: readonly { name: string; rows: readonly Row[] }[];
  growth: readonly { name: string; points: readonly { x: number; rows: readonly Row[] }[] }[];
}

export interface Figure {
  label: string;
  unit: string;
  compare?: "ratio" | "difference" | "none";
  higherIsBetter?: boolean;
  plot?: boolean;
}

/** The texts of benchmarks/subjects/NAME.mjs; benchmarks/run.mjs describes them. */
export interface Subject {
  title: string;
  question: string;
  notes?: string;
  figures: Readonly<Record<string, Figure>>;
  floor?: string;
  own: readonly string[];
  panels?: readonly { name: string; floor?: string; figures?: readonly string[] }[];
  growth?: readonly { name: string; unit: string; figures?: readonly string[] }[];
}

export interface Benchmark {
  name: string;
  subject: Subject;
  result: Result;
}

/** One figure of one panel: a column of the table, and a chart if it is plotted. */
export interface Column {
  panel: string;
  /** Of the chart: the panel and the figure, or the reverse if there is only one panel. */
  title: string;
  subtitle: string;
  key: string;
  figure: Figure;
  compare: "ratio" | "difference" | "none";
  floor: string | undefined;
  isPlotted: boolean;
  rows: readonly Row[];
}

/** The columns of a subject, panel by panel. */
export function listColumns({ subject, result }: Benchmark): Column[] {
  return result.panels.flatMap(({ name, rows }) => {
    const panel = subject.panels?.find((one) => one.name === name);
    const measured = Object.keys(subject.figures).filter((key) => rows.some(({ figures }) => key in figures));
    const keys = panel?.figures ?? measured;
    const isMarked = keys.some((key) => subject.figures[key]?.plot);
    return keys.map((key, index) => {
      const figure = subject.figures[key];
      if (figure === undefined) throw new Error(`${name} has no figure ${key}`);
      const floor = panel?.floor ?? subject.floor;
      const compare = rows.some((row) => row.name === floor) ? (figure.compare ?? "ratio") : "none";
      const isPlotted = isMarked ? figure.plot === true : index === 0;
      const [title, subtitle] =
        result.panels.length > 1 ? [name, figure.label] : [capitalize(figure.label), name];
      return { panel: name, title, subtitle, key, figure, compare, floor, isPlotted, rows };
    });
  });
}

/** How a row compares with the floor: the ratio, or the difference; without a comparison the value. */
export const getCompared = ({ compare, key }: Column, row: Row): Quartiles | undefined =>
  row.figures[key]?.[compare === "none" ? "value" : compare];

/** The names of the rows of all columns; the best ones of the first column that has them come first. */
export function listRows(columns: readonly Column[]): string[] {
  const names = new Set<string>();
  for (const column of columns) {
    const direction = column.figure.higherIsBetter ? -1 : 1;
    const medians = column.rows.flatMap((row) => {
      const compared = getCompared(column, row);
      return compared === undefined ? [] : [{ name: row.name, median: compared[1] * direction }];
    });
    for (const { name } of medians.sort((one, other) => one.median - other.median)) names.add(name);
  }
  return [...names];
}

/** Three significant digits, with a narrow space between thousands. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return groupThousands(String(value));
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const [whole = "", fraction] = value.toFixed(Math.min(digits, 3)).split(".");
  return fraction === undefined ? groupThousands(whole) : `${groupThousands(whole)}.${fraction}`;
}

const groupThousands = (whole: string) => whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** A ratio has two decimals, and one from 10. */
export const formatRatio = (value: number) => value.toFixed(value < 9.95 ? 2 : value < 99.5 ? 1 : 0);

export function formatCompared(column: Column, value: number): string {
  if (column.compare === "ratio") return formatRatio(value);
  const sign = column.compare === "difference" && value > 0 ? "+" : "";
  return sign + formatNumber(value);
}

function formatCell(column: Column, name: string): string {
  const row = column.rows.find((one) => one.name === name);
  const measured = row?.figures[column.key];
  const compared = row && getCompared(column, row);
  if (measured === undefined || compared === undefined) return "";
  const isAbsolute = name === column.floor || column.compare !== "ratio";
  const format = isAbsolute ? formatNumber : formatRatio;
  const [low, middle, high] = name === column.floor ? measured.value : compared;
  const unit = isAbsolute ? column.figure.unit : "×";
  const sign = column.compare === "difference" && name !== column.floor && middle > 0 ? "+" : "";
  const range = low === high ? "" : `(${format(low)}${low < 0 ? " to " : "–"}${format(high)})`;
  return [sign + format(middle), unit, range].filter(Boolean).join(" ").replaceAll("-", "−");
}

/** At most this many columns make one table. */
const maxColumns = 4;

/** Panels with the same figures make one table, or one for each figure. Small tables with the same rows are joined. */
function splitColumns(columns: readonly Column[]): Column[][] {
  const keysOf = (panel: string) =>
    columns
      .filter((one) => one.panel === panel)
      .map(({ key }) => key)
      .join();
  const tables: Column[][] = [];
  for (const keys of new Set(columns.map(({ panel }) => keysOf(panel)))) {
    const same = columns.filter(({ panel }) => keysOf(panel) === keys);
    const last = tables.at(-1);
    const isSplit = same.length > maxColumns;
    if (isSplit) tables.push(...keys.split(",").map((key) => same.filter((one) => one.key === key)));
    else if (last && last.length + same.length <= maxColumns && haveSameRows([...last, ...same]))
      last.push(...same);
    else tables.push(same);
  }
  return tables;
}

const haveSameRows = (columns: readonly Column[]) =>
  new Set(
    columns.map(({ rows }) =>
      rows
        .map(({ name }) => name)
        .sort()
        .join(),
    ),
  ).size === 1;

function renderTables({ subject, result }: Benchmark, columns: readonly Column[]): string[] {
  const hasOnePanel = result.panels.length === 1;
  return splitColumns(columns).map((table) => {
    const isOneFigure = new Set(table.map(({ key }) => key)).size === 1;
    const [first] = table;
    const heading = isOneFigure && !hasOnePanel && first ? capitalize(first.figure.label) : "Variant";
    const titles = table.map(({ panel, figure }) => {
      if (hasOnePanel) return capitalize(figure.label);
      return isOneFigure ? panel : `${panel}: ${figure.label}`;
    });
    const rows = listRows(table).map((name) => {
      const title = subject.own.includes(name) ? `**${name}**` : name;
      return [title, ...table.map((column) => formatCell(column, name))];
    });
    return renderTable([heading, ...titles], rows);
  });
}

/** How one figure grows: a table, and a chart. */
export interface Growth {
  name: string;
  /** What is counted, such as "cards". */
  unit: string;
  figure: Figure;
  xs: readonly number[];
  series: readonly { name: string; medians: readonly (number | undefined)[] }[];
}

export function listGrowth({ subject, result }: Benchmark): Growth[] {
  return result.growth.flatMap(({ name, points }) => {
    const { unit = "", figures } = subject.growth?.find((one) => one.name === name) ?? {};
    const rows = points.flatMap((point) => point.rows);
    const names = [...new Set(rows.map((row) => row.name))];
    return Object.entries(subject.figures).flatMap(([key, figure]) => {
      const isMeasured = rows.some((row) => key in row.figures);
      if (!isMeasured || (figures && !figures.includes(key))) return [];
      const series = names.map((row) => ({
        name: row,
        medians: points.map((point) => point.rows.find((one) => one.name === row)?.figures[key]?.value[1]),
      }));
      return [{ name, unit, figure, xs: points.map(({ x }) => x), series }];
    });
  });
}

function renderGrowth(benchmark: Benchmark): string[] {
  const getTitle = (name: string) => (benchmark.subject.own.includes(name) ? `**${name}**` : name);
  return listGrowth(benchmark).map(({ name: growth, unit, figure, xs, series }) => {
    const rows = xs.map((x, index) => [
      `${formatNumber(x)} ${unit}`,
      ...series.map(({ medians }) => formatMedian(medians[index], figure.unit)),
    ]);
    return renderTable(
      [`${growth}: ${uncapitalize(figure.label)}`, ...series.map(({ name }) => getTitle(name))],
      rows,
    );
  });
}

const formatMedian = (value: number | undefined, unit: string) =>
  value === undefined ? "" : `${formatNumber(value)} ${unit}`.trim();

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const ruler = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [line(head), line(ruler), ...rows.map(line)].join("\n");
}

const uncapitalize = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function renderSection(benchmark: Benchmark): string {
  const { name, subject, result } = benchmark;
  const { commit, date, seconds, machine, versions } = result;
  const measured = [...(commit === undefined ? [] : [`commit ${commit}`]), date, `${seconds} s`, machine];
  const peers = Object.entries(versions).map(([peer, version]) => `${peer} ${version}`);
  return [
    `## ${subject.title}`,
    `${subject.question}${subject.floor === undefined ? "" : ` The floor is *${subject.floor}*.`}`,
    `![${subject.title}: the figures of the tables below](diagrams/benchmarks/${name}.svg)`,
    "<details><summary>The figures as tables</summary>",
    ...renderTables(benchmark, listColumns(benchmark)),
    ...renderGrowth(benchmark),
    "</details>",
    ...(subject.notes === undefined ? [] : [subject.notes]),
    `\`npm run bench -- ${name}\`, ${measured.join(", ")}.${peers.length > 0 ? ` Beside ${peers.join(", ")}.` : ""}`,
  ].join("\n\n");
}

const introduction = `# Benchmarks

<!-- Written by \`npm run bench\` from benchmarks/results. -->

Our packages beside other packages and beside a *floor*: the same work written by hand, without a library.

\`npm ci && npm run bench\` measures everything in about 30 minutes; \`npm run bench -- NAME…\` measures some subjects, and
\`npm run bench -- --list\` lists them. It needs Linux on x64; the inboxes' subject also needs PostgreSQL and Redis on the standard ports. Everything runs on
Node 24, except where a column names another version.

How to read the figures:

- A number with × is the ratio to the floor in the same round: 0.50 × takes half as long. It depends less on the machine than a
  time does. The floor's row has the absolute value.
- Each number is a median; the range in parentheses is from the first to the third quartile. Each subject runs in several fresh processes, because
  compilation differs between processes, and in several rounds per process. The variants of a round run in random order.
- *Processor time* is user and system time, and depends little on what else runs on the machine. *Time* is the wall clock.
- Our variants are bold, and blue in the plots. In a plot, the line is the range and the circle is the floor.`;

/** The page. */
export const renderPage = (benchmarks: readonly Benchmark[]) =>
  `${[introduction, renderContents(benchmarks), ...benchmarks.map(renderSection)].join("\n\n")}\n`;

/** One line, because a list after the list of the introduction would belong to that. */
const renderContents = (benchmarks: readonly Benchmark[]) =>
  benchmarks.map(({ subject }) => `[${subject.title}](#${toAnchor(subject.title)})`).join(" · ");

/** The anchor of a heading. */
export const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w ]/g, "")
    .replaceAll(" ", "-");

/** Reads the subjects that have results. */
export async function readBenchmarks(): Promise<Benchmark[]> {
  const folder = join(root, "benchmarks");
  const names = readdirSync(join(folder, "subjects")).map((file) => file.replace(".mjs", ""));
  const measured = names.sort().filter((name) => existsSync(join(folder, "results", `${name}.json`)));
  return Promise.all(
    measured.map(async (name) => {
      const { default: subject } = await import(pathToFileURL(join(folder, "subjects", `${name}.mjs`)).href);
      return {
        name,
        subject,
        result: JSON.parse(readFileSync(join(folder, "results", `${name}.json`), "utf8")),
      };
    }),
  );
}

export async function writeBenchmarks(): Promise<void> {
  const benchmarks = await readBenchmarks();
  mkdirSync(join(root, "docs/diagrams/benchmarks"), { recursive: true });
  for (const benchmark of benchmarks)
    writeFileSync(join(root, `docs/diagrams/benchmarks/${benchmark.name}.svg`), renderPlot(benchmark));
  writeFileSync(join(root, "docs/benchmarks.md"), renderPage(benchmarks));
}
