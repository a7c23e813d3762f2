/** Renders the benchmarks of docs/evidence.md from the results of `npm run bench`. */
import { readFromRoot } from "./snippets.ts";

/** First quartile, median and third quartile. */
type Quartiles = readonly [number, number, number];
/** How a variant is compared with the floor in the same round. */
type Comparison = "ratio" | "difference";
type Measured = { value: Quartiles } & Partial<Record<Comparison, Quartiles>>;

/** Variants that were measured under the same conditions. */
interface Panel {
  name: string;
  rows: { name: string; figures: Record<string, Measured> }[];
}

/** benchmarks/subjects/NAME.mjs, which benchmarks/run.mjs describes. */
interface Subject {
  title: string;
  notes: string;
  floor?: string;
  figures: Record<string, { label: string; compare?: Comparison | "none" }>;
  own: string[];
}

/** One subject in benchmarks/results.json. */
interface Result {
  commit: string;
  date: string;
  panels: Panel[];
}

/** A figure of a panel. */
interface Column {
  key: string;
  panel: Panel;
}

/** A table for each subject. */
export async function renderBenchmarks(): Promise<string> {
  const results: Record<string, Result> = JSON.parse(readFromRoot("benchmarks/results.json"));
  const sections: string[] = [];
  for (const name of Object.keys(results).sort()) {
    const file = new URL(`../../benchmarks/subjects/${name}.mjs`, import.meta.url);
    const { default: subject } = await import(file.href);
    sections.push(renderSection(name, subject, results[name] as Result));
  }
  return `\n${sections.join("\n\n")}\n\n`;
}

function renderSection(name: string, subject: Subject, result: Result): string {
  const { commit, date, panels } = result;
  const columns = panels.flatMap((panel) =>
    Object.keys(panel.rows[0]?.figures ?? {}).map((key) => ({ key, panel })),
  );
  return [
    `### ${subject.title}`,
    renderTable(subject, columns),
    `${subject.notes} \`npm run bench -- ${name}\`, ${date}, ${commit}.`,
  ].join("\n\n");
}

/** The variants that are best in the first column come first. */
function renderTable(subject: Subject, columns: readonly Column[]): string {
  const names = new Set(columns.flatMap((column) => rankNames(column)));
  const rows = Array.from(names, (name) => [
    subject.own.includes(name) ? `**${name}**` : name,
    ...columns.map((column) => formatCell(subject, column, name)),
  ]);
  const [head, ...lines] = [titleColumns(subject, columns), ...rows].map(
    (cells) => `| ${cells.join(" | ")} |`,
  );
  return [head, `|---|${"---:|".repeat(columns.length)}`, ...lines].join("\n");
}

/** The first cell has what all columns share: the panel or the figure. */
function titleColumns(subject: Subject, columns: readonly Column[]): string[] {
  const panels = columns.map(({ panel }) => panel.name);
  const labels = columns.map(({ key }) => subject.figures[key]?.label ?? key);
  const [panel = "", label = ""] = [panels[0], labels[0]];
  if (panels.every((one) => one === panel)) return [panel, ...labels];
  if (labels.every((one) => one === label)) return [label, ...panels];
  return ["", ...columns.map((_, index) => `${panels[index]}: ${labels[index]}`)];
}

function rankNames({ key, panel }: Column): string[] {
  const rank = ({ figures }: Panel["rows"][number]) => figures[key]?.value[1] ?? 0;
  const ranked = panel.rows.toSorted((one, other) => rank(one) - rank(other));
  return ranked.map(({ name }) => name);
}

/** The median: of the floor its value, of the others how they compare with it. */
function formatCell(subject: Subject, { key, panel }: Column, name: string): string {
  const measured = panel.rows.find((row) => row.name === name)?.figures[key];
  if (measured === undefined) return "";
  const comparison = subject.figures[key]?.compare ?? "ratio";
  const compared = comparison === "none" ? undefined : measured[comparison];
  if (compared === undefined || name === subject.floor) return formatNumber(measured.value[1]);
  return comparison === "ratio" ? `${formatRatio(compared[1])}×` : `+${formatNumber(compared[1])}`;
}

const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
const formatNumber = (value: number) => value.toLocaleString("en", digits);
const formatRatio = (value: number) => value.toFixed(value < 9.95 ? 2 : 1);
