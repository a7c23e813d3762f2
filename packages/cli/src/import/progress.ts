/** Progress of an import: two lines that are replaced on a terminal, or a line every ten seconds. */
import type { BulkProgress } from "@loyalty-cards/issuing-client/bulk";
import { splitMessage } from "../error-message.ts";
import { type Part, style, Text, text } from "../printable.ts";
import type { Printer } from "../printer.ts";

/** How often a line is printed without a terminal. */
export const lineIntervalMs = 10_000;

export class ProgressDisplay {
  readonly #print: Printer;
  #nextLineAtMs = lineIntervalMs;

  constructor(print: Printer) {
    this.#print = print;
  }

  /** @param progress of the whole import. */
  update(progress: BulkProgress): void {
    if (this.#print.isLive) this.#print.status(formatLive(progress, this.#print.columns));
    else if (progress.elapsedMs >= this.#nextLineAtMs) {
      this.#nextLineAtMs = progress.elapsedMs + lineIntervalMs;
      this.#print.info(formatLine(progress));
    }
  }

  clear(): void {
    this.#print.status(undefined);
  }
}

const countDone = ({ issued, replayed, rejected, unknown }: BulkProgress) =>
  issued + replayed + rejected + unknown;

function formatLive(progress: BulkProgress, columns: number): Text {
  const { total, rejected, unknown, perSecond, concurrency, pausedMs, pausedBy, etaMs } = progress;
  const done = countDone(progress);
  const share = total === undefined ? undefined : Math.min(1, done / Math.max(1, total));
  const counts = `${formatNumber(done)}${total === undefined ? " rows" : ` of ${formatNumber(total)}`}`;
  const [speed = "", ...details]: Part[] = [
    pausedMs !== undefined
      ? style("yellow", `paused for ${formatDuration(pausedMs)}`)
      : `${formatNumber(perSecond)} per second, ${concurrency} at once`,
    ...(etaMs === undefined ? [] : [`${formatDuration(etaMs)} left`]),
    rejected > 0 ? style("red", `${formatNumber(rejected)} rejected`) : "none rejected",
    ...(unknown > 0 ? [style("yellow", `${formatNumber(unknown)} unknown`)] : []),
  ];
  const indent = " ".repeat(9);
  const percent = share === undefined ? "" : `${String(Math.floor(share * 100)).padStart(3)} %  `;
  const barWidth = Math.min(30, columns - 1 - `${indent} ${percent}${counts}`.length);
  const bar = share === undefined || barWidth < 5 ? "" : `${formatBar(share, barWidth)} `;
  const lines = [text`Issuing  ${bar}${percent}${counts}`, text`${indent}${speed}`];
  for (const detail of details) {
    const line = text`${lines.at(-1) ?? ""} · ${detail}`;
    if (line.width < columns) lines[lines.length - 1] = line;
    else lines.push(text`${indent}${detail}`);
  }
  if (pausedBy !== undefined) lines.push(Text.from(splitMessage(pausedBy).text).wrap(columns - 1, indent));
  return Text.lines(lines);
}

const formatBar = (share: number, width: number) => "█".repeat(Math.round(share * width)).padEnd(width, "░");

function formatLine(progress: BulkProgress): string {
  const { total, rejected, unknown, perSecond, pausedMs, pausedBy, etaMs } = progress;
  const done = countDone(progress);
  const counts = [
    total === undefined
      ? `${done} rows`
      : `${done} of ${total} rows (${Math.floor((done * 100) / Math.max(1, total))} %)`,
    pausedMs === undefined ? `${Math.round(perSecond)} per second` : `paused for ${formatDuration(pausedMs)}`,
    ...(etaMs === undefined ? [] : [`${formatDuration(etaMs)} left`]),
    `${rejected} rejected`,
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
  ].join(", ");
  return pausedBy === undefined ? counts : `${counts}. ${splitMessage(pausedBy).text}`;
}

/** With thousands separators: 12,345. */
export const formatNumber = (value: number): string =>
  String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ",");

export const formatCount = (value: number, noun: string): string =>
  `${formatNumber(value)} ${noun}${value === 1 ? "" : "s"}`;

/** The two largest units: `2 h 5 min`, `12 s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
