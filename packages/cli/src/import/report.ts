/** What an import reports: its progress, the question after the first cards, the result, and the files with the cards and the rejected rows. */
import { once } from "node:events";
import { createReadStream, createWriteStream, lstatSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { text as readText } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { formatDuration } from "@loyalty-cards/internal/format";
import type { OutboxCounts, SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import type { Context } from "../command.ts";
import { CommandError, describeRejection, exitCodes } from "../command-error.ts";
import { formatCount, formatNumber, formatTable, Text, text } from "../printable.ts";
import type { Printer } from "../printer.ts";
import { type ListIndex, toUserKey } from "./rows.ts";

const lineIntervalMs = 10_000;

/** How many rows have a result. */
export const countEnded = ({ issued, rejected, unknown }: OutboxCounts) => issued + rejected + unknown;

/** @returns a function that shows how far an import is: as a status that is replaced on a terminal, or as a line every ten seconds. */
export function createProgress(print: Printer, now = () => performance.now()) {
  let nextLineAtMs = now() + lineIntervalMs;
  let start: { atMs: number; ended: number } | undefined;
  /** @param failure that of the last request; undefined when it succeeded. */
  return (counts: OutboxCounts, failure?: string): void => {
    const atMs = now();
    const ended = countEnded(counts);
    const all = ended + counts.waiting;
    start ??= { atMs, ended };
    const perSecond = ((ended - start.ended) * 1_000) / Math.max(1, atMs - start.atMs);
    const left = `${formatDuration((counts.waiting * 1_000) / perSecond)} left`;
    const parts = [
      `Issuing  ${Math.floor((ended * 100) / Math.max(1, all))} %  ${formatNumber(ended)} of ${formatNumber(all)}`,
      ...(perSecond > 0 ? [`${formatNumber(perSecond)} per second`, left] : []),
      `${formatNumber(counts.rejected)} rejected`,
      ...(failure === undefined ? [] : [`the last request failed, and is repeated: ${failure}`]),
    ];
    const line = Text.from(parts.join(" · "));
    if (print.isLive) print.status(line);
    else if (atMs >= nextLineAtMs) {
      nextLineAtMs = atMs + lineIntervalMs;
      print.info(line);
    }
  };
}

/** Asks whether to continue after the first rows. With `--yes` the run ends only when no card was issued. */
export async function confirm(
  { ask, print, terminal }: Context,
  isYes: boolean | undefined,
  counts: OutboxCounts,
  signal: AbortSignal,
): Promise<boolean> {
  const { issued, rejected, unknown, waiting } = counts;
  print.info(`First ${countEnded(counts)} rows: ${issued} issued, ${rejected} rejected, ${unknown} unknown.`);
  if (isYes || ask === undefined) {
    if (issued === 0) print.error("Stopped, because none of the first rows was issued.");
    return issued > 0;
  }
  const interrupted = once(signal, "abort").then(() => false);
  const question = `Look at these cards in the service. Issue the other ${formatNumber(waiting)}?`;
  const isConfirmed = await Promise.race([ask(question), interrupted]);
  if (signal.aborted) terminal.stdin.unref?.(); // the read for the question is still waiting
  return isConfirmed;
}

const endings = { complete: "Complete", interrupted: "Interrupted", declined: "Stopped" };

/** @param elapsedMs the time of this run; the counts are those of all runs. @returns the exit code. */
export function printResult(
  { print }: Context,
  { issued, rejected, unknown }: Pick<OutboxCounts, "issued" | "rejected" | "unknown">,
  files: { outbox: string; cards: string; rejected: string },
  ended: keyof typeof endings,
  elapsedMs: number,
): number {
  const rows = issued + rejected + unknown;
  const names = { cards: basename(files.cards), rejected: basename(files.rejected) };
  const counts = { rows, issued, rejected, unknown };
  print.data({ ...counts, elapsedMs, ended, files: names, outbox: basename(files.outbox) }, () => {
    const table = [
      ["  issued", formatNumber(issued), names.cards],
      ["  rejected", formatNumber(rejected), names.rejected],
      ...(unknown > 0 ? [["  unknown", formatNumber(unknown), names.rejected]] : []),
    ];
    return text`${endings[ended]}: ${formatCount(rows, "row")} in ${formatDuration(elapsedMs)}\n${formatTable(table)}`;
  });
  if (ended !== "complete") print.info("To resume, run the same command again.");
  else if (rejected > 0) print.info("Correct the rejected rows in the list, and run the same command again.");
  if (ended !== "complete") return ended === "interrupted" ? exitCodes.interrupted : exitCodes.stopped;
  return rejected + unknown > 0 ? exitCodes.failed : exitCodes.complete;
}

const headers = {
  cards: ["user_id", "card_id"],
  rejected: ["line", "user_id", "code", "reason", "key"],
};

export async function* listCards(outbox: SqliteOutbox): AsyncGenerator<string[], void> {
  yield headers.cards;
  for await (const { userId, cardId = "" } of outbox.list({ state: "issued" })) yield [userId, cardId];
}

/** @param invalid the rows that the check rejected. */
export async function* listRejected(outbox: SqliteOutbox, index: ListIndex, invalid: readonly string[][]) {
  yield headers.rejected;
  yield* invalid;
  for (const state of ["rejected", "unknown"] as const)
    for await (const { userId, error, idempotencyKey } of outbox.list({ state })) {
      const isKnown = state === "rejected" && error;
      const reason = isKnown ? describeRejection(error) : "A card may exist: look in the service's console.";
      const line = String(index.find(toUserKey(userId)) ?? "");
      yield [line, userId, error?.code ?? state, reason, idempotencyKey];
    }
}

/** @throws {CommandError} for a file in the place of a result that no import wrote. */
export async function requireOwn(files: Record<keyof typeof headers, string>): Promise<void> {
  for (const kind of ["cards", "rejected"] as const) {
    const path = files[kind];
    if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) continue; // a link is replaced, and not its file
    const [header = ""] = (await readText(createReadStream(path, { end: 99 }))).split("\n");
    // A spreadsheet may have saved it with another delimiter and with quotes.
    if (header.match(/\w+/g)?.join() !== headers[kind].join())
      throw new CommandError(`${basename(path)} was not written by an import: rename it, or move it away.`);
  }
}

/** Replaces the file of the last run. Only its owner can read it, because it has personal data. */
export async function writeCsv(
  path: string,
  delimiter: string,
  rows: AsyncIterable<string[]>,
): Promise<void> {
  const part = `${path}.part`;
  rmSync(part, { force: true }); // of a run that was killed
  async function* toLines() {
    for await (const row of rows) yield `${row.map((cell) => quote(cell, delimiter)).join(delimiter)}\n`;
  }
  await pipeline(toLines, createWriteStream(part, { mode: 0o600, flags: "wx" }));
  renameSync(part, path);
}

/** Puts a value on one line. */
function quote(text: string, delimiter: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ");
  return line.includes('"') || line.includes(delimiter) ? `"${line.replaceAll('"', '""')}"` : line;
}
