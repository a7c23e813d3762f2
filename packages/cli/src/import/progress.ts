/** Progress of an import: two lines that are replaced on a terminal, or a line every ten seconds. */
import { formatDuration } from "@loyalty-cards/internal/format";
import { formatNumber, type Part, style, Text, text } from "../printable.ts";
import type { Printer } from "../printer.ts";

/** How many rows have which result. */
export interface Counts {
  issued: number;
  /** Rows whose card an earlier run had issued. */
  replayed: number;
  rejected: number;
  unknown: number;
}

export interface Progress extends Counts {
  elapsedMs: number;
  perSecond: number;
  /** How many rows there are, when that is known. */
  total?: number | undefined;
  /** The remaining time, when the throughput is known. */
  etaMs?: number | undefined;
  /** Why one row is tried at a time. */
  pausedBy?: string | undefined;
}

export const countRows = ({ issued, replayed, rejected, unknown }: Counts): number =>
  issued + replayed + rejected + unknown;

/** How often a line is printed without a terminal. */
export const lineIntervalMs = 10_000;
/** The throughput is measured over this time. The remaining time is known only after the first seconds, in which connections are slower. */
const windowMs = 30_000;
const minMeasuredMs = 2_500;

/** Measures how many rows get a result per second. */
export class ThroughputMeter {
  #samples: { atMs: number; count: number }[] = [];

  /** @param left how many rows have no result yet. */
  measure(atMs: number, count: number, left: number | undefined): Pick<Progress, "perSecond" | "etaMs"> {
    this.#samples.push({ atMs, count });
    this.#samples = this.#samples.filter((sample) => atMs - sample.atMs <= windowMs);
    const [first = { atMs, count }] = this.#samples;
    const measuredMs = atMs - first.atMs;
    const perSecond = measuredMs === 0 ? 0 : ((count - first.count) * 1000) / measuredMs;
    const isKnown = left !== undefined && perSecond > 0 && measuredMs >= minMeasuredMs;
    return { perSecond, etaMs: isKnown ? (Math.max(0, left) * 1000) / perSecond : undefined };
  }
}

export class ProgressDisplay {
  readonly #print: Printer;
  #nextLineAtMs = lineIntervalMs;

  constructor(print: Printer) {
    this.#print = print;
  }

  /** @param progress of the whole import. */
  update(progress: Progress): void {
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

function formatLive(progress: Progress, columns: number): Text {
  const { total, rejected, unknown, perSecond, pausedBy, etaMs } = progress;
  const done = countRows(progress);
  const share = total === undefined ? undefined : Math.min(1, done / Math.max(1, total));
  const counts = `${formatNumber(done)}${total === undefined ? " rows" : ` of ${formatNumber(total)}`}`;
  const [speed = "", ...details]: Part[] = [
    pausedBy !== undefined ? style("yellow", paused) : `${formatNumber(perSecond)} per second`,
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
  if (pausedBy !== undefined) lines.push(text`${indent}${pausedBy}`.reflow(columns - 1));
  return Text.lines(lines);
}

const paused = "paused, trying one row at a time";

const formatBar = (share: number, width: number) => "█".repeat(Math.round(share * width)).padEnd(width, "░");

function formatLine(progress: Progress): string {
  const { total, rejected, unknown, perSecond, pausedBy, etaMs } = progress;
  const done = countRows(progress);
  const counts = [
    total === undefined
      ? `${done} rows`
      : `${done} of ${total} rows (${Math.floor((done * 100) / Math.max(1, total))} %)`,
    pausedBy === undefined ? `${Math.round(perSecond)} per second` : paused,
    ...(etaMs === undefined ? [] : [`${formatDuration(etaMs)} left`]),
    `${rejected} rejected`,
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
  ].join(", ");
  return pausedBy === undefined ? counts : `${counts}. ${pausedBy}`;
}
