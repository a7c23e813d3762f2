/** Renders docs/benchmarks.md from the results of `npm run bench`. */
import { readFromRoot } from "./snippets.ts";

/** First quartile, median and third quartile. */
type Quartiles = readonly [number, number, number];
type Compared = "ratio" | "difference";

/** The variants that are compared. */
interface Panel {
  name: string;
  rows: {
    name: string;
    figures: Record<string, { value: Quartiles } & Partial<Record<Compared, Quartiles>>>;
  }[];
}

/** benchmarks/subjects/NAME.mjs, which benchmarks/run.mjs describes. */
interface Subject extends Record<"title" | "question" | "notes" | "floor", string> {
  figures: Record<
    string,
    { label: string; unit: string; compare?: Compared | "none"; higherIsBetter?: boolean }
  >;
  own: string[];
}

/** One subject in benchmarks/results.json. */
interface Result extends Record<"commit" | "date" | "machine", string> {
  versions: Record<string, string>;
  panels: Panel[];
}

const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
const formatNumber = (value: number) => value.toLocaleString("en", digits);
const formatRatio = (value: number) => value.toFixed(value < 9.95 ? 2 : 1);

/** The floor has its value; the others how they compare with it. */
function formatCell({ figures, floor }: Subject, { key, panel }: Column, name: string): string {
  const { unit = "", compare = "ratio" } = figures[key] ?? {};
  const measured = panel.rows.find((row) => row.name === name)?.figures[key];
  if (measured === undefined) return "";
  const compared = name === floor || compare === "none" ? undefined : measured[compare];
  const isRatio = compared !== undefined && compare === "ratio";
  const [low, middle, high] = (compared ?? measured.value).map(isRatio ? formatRatio : formatNumber);
  const sign = compared !== undefined && compare === "difference" ? "+" : "";
  const range = low === high ? "" : `(${low}–${high})`;
  return [sign + middle, isRatio ? "×" : unit, range].filter(Boolean).join(" ");
}

interface Column {
  title: string;
  key: string;
  panel: Panel;
}

/** The best variants of the first column come first. */
function renderTable(subject: Subject, heading: string, columns: Column[]): string {
  const names = columns.flatMap(({ key, panel }) => {
    const direction = subject.figures[key]?.higherIsBetter ? -1 : 1;
    const rank = ({ figures }: Panel["rows"][number]) => (figures[key]?.value[1] ?? 0) * direction;
    return panel.rows.toSorted((one, other) => rank(one) - rank(other)).map(({ name }) => name);
  });
  const lines = [...new Set(names)].map((name) => [
    subject.own.includes(name) ? `**${name}**` : name,
    ...columns.map((column) => formatCell(subject, column, name)),
  ]);
  const head = [heading.charAt(0).toUpperCase() + heading.slice(1), ...columns.map(({ title }) => title)];
  return [head, ["---", ...columns.map(() => "---:")], ...lines]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** A table for each figure of panels with the same figures, and one for a panel with figures of its own. */
function renderTables(subject: Subject, panels: Panel[]): string[] {
  const toKeys = ({ rows }: Panel) => Object.keys(rows[0]?.figures ?? {}).join();
  const label = (key: string) => subject.figures[key]?.label ?? key;
  return [...new Set(panels.map(toKeys))].flatMap((joined) => {
    const same = panels.filter((panel) => toKeys(panel) === joined);
    const keys = joined.split(",");
    if (same.length > 1) {
      const toColumns = (key: string) => same.map((panel) => ({ title: panel.name, key, panel }));
      return keys.map((key) => renderTable(subject, label(key), toColumns(key)));
    }
    const toColumns = (panel: Panel) => keys.map((key) => ({ title: label(key), key, panel }));
    return same.map((panel) => renderTable(subject, panel.name, toColumns(panel)));
  });
}

function renderSection(name: string, subject: Subject, result: Result): string {
  const { commit = "", date, machine, versions, panels } = result;
  const peers = Object.entries(versions).map((peer) => peer.join(" "));
  return [
    `## ${subject.title}`,
    `${subject.question} The floor is *${subject.floor}*.`,
    ...renderTables(subject, panels),
    subject.notes,
    `\`npm run bench -- ${name}\`, ${commit && `commit ${commit}, `}${date}, ${machine}.${peers.length > 0 ? ` Beside ${peers.join(", ")}.` : ""}`,
  ].join("\n\n");
}

const introduction = `# Benchmarks

<!-- Written by \`npm run bench\` from benchmarks/results.json. -->

Our packages, in bold, beside other packages and beside a *floor*: the same work written by hand. A number with × is the ratio to the floor in the same round, so 0.50 × takes half as long; the floor's row has the
absolute value. Each number is a median, with its quartiles in parentheses, of several fresh processes with several rounds in random order. Processor time is user and system time.
\`npm ci && npm run bench\` measures everything on Linux and x64, on Node 24 except where a column names another version.`;

export async function renderPage(): Promise<string> {
  const results: Record<string, Result> = JSON.parse(readFromRoot("benchmarks/results.json"));
  const sections = [introduction];
  for (const name of Object.keys(results).sort()) {
    const file = new URL(`../../benchmarks/subjects/${name}.mjs`, import.meta.url);
    const { default: subject } = await import(file.href);
    sections.push(renderSection(name, subject, results[name] as Result));
  }
  return `${sections.join("\n\n")}\n`;
}
