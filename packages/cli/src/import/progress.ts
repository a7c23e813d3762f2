/**
 * How far an import is, and how fast: a status that is replaced on a terminal, or lines of a log.
 */
import { formatDuration, formatNumber } from "@loyalty-cards/internal/format";
import type { OutboxCounts } from "@loyalty-cards/issuing-outbox";
import { formatMoment, Text } from "../printable.ts";
import type { Printer } from "../printer.ts";
import { countEnded } from "./list-outbox.ts";
import type { ServiceState } from "./run-facts.ts";

const lineIntervalMs = 10_000;

export type Progress = ReturnType<typeof createProgress>;

export function createProgress(print: Printer, now = () => performance.now()) {
  const rate = createRate();
  let nextLineAtMs = now() + lineIntervalMs;
  let lastLine = "";

  function printLine(line: Text, atMs: number): void {
    if (atMs < nextLineAtMs || String(line) === lastLine) return;
    nextLineAtMs = atMs + lineIntervalMs;
    lastLine = String(line);
    print.info(line);
  }

  return {
    update(counts: OutboxCounts, service: ServiceState): void {
      const atMs = now();
      const isSending = service.outageSince === undefined && !service.isIdle;
      rate.add(atMs, countEnded(counts), isSending);
      const line = Text.from(formatProgress(counts, service, rate.getPerSecond()));
      if (print.isLive) print.status(line);
      else printLine(line, atMs);
    },
    /** Ends the time of sending until the next update. */
    stop: rate.stop,
  };
}

/** Counts the rows that get a result while requests are sent, and the time of sending. */
function createRate() {
  let sentRows = 0;
  let sentMs = 0;
  /** The last update while requests are sent; undefined while nothing is sent. */
  let start: { atMs: number; ended: number } | undefined;
  return {
    /** @param ended how many rows have a result. */
    add(atMs: number, ended: number, isSending: boolean): void {
      if (start !== undefined) {
        sentRows += ended - start.ended;
        sentMs += atMs - start.atMs;
      }
      start = isSending ? { atMs, ended } : undefined;
    },
    stop(): void {
      start = undefined;
    },
    getPerSecond: () => (sentRows * 1_000) / Math.max(1, sentMs),
  };
}

function formatProgress(counts: OutboxCounts, service: ServiceState, perSecond: number): string {
  const { waiting, rejected } = counts;
  const ended = countEnded(counts);
  const all = ended + waiting;
  const percent = Math.floor((ended * 100) / Math.max(1, all));
  const parts = [
    `Issuing  ${percent} %  ${formatNumber(ended)} of ${formatNumber(all)}`,
    ...formatSending(waiting, service, perSecond),
  ];
  if (rejected > 0) parts.push(`${formatNumber(rejected)} rejected`);
  if (service.outageSince === undefined && service.failure !== undefined)
    parts.push(`the last request failed, and is repeated: ${service.failure.message}`);
  return parts.join(" · ");
}

function formatSending(waiting: number, service: ServiceState, perSecond: number): string[] {
  const { outageSince, failure, isIdle, lastRetryAt } = service;
  if (outageSince !== undefined) return [formatOutage(outageSince, failure)];
  if (!isIdle) return formatRate(waiting, perSecond);
  const until = lastRetryAt === undefined ? "" : ` until ${formatMoment(lastRetryAt)}`;
  return [`waits to repeat requests${until}`];
}

function formatRate(waiting: number, perSecond: number): string[] {
  if (perSecond === 0) return [];
  const left = formatDuration((waiting * 1_000) / perSecond);
  return [`${formatNumber(Math.round(perSecond))} per second`, `${left} left`];
}

function formatOutage(since: Date, failure: ServiceState["failure"]): string {
  const waits = `waits for the service since ${formatMoment(since)}`;
  if (failure === undefined) return waits;
  return failure.status === undefined
    ? `${waits}: ${failure.message}`
    : `${waits} (${failure.status})`;
}
