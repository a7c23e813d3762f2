/**
 * What an import reports: the question after the first cards, the result, and the files with the
 * cards and the rejected rows.
 */
import { once } from "node:events";
import { createReadStream, createWriteStream, lstatSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { text as readText } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { removeErrorLink } from "@loyalty-cards/internal/errors";
import { formatDuration, formatNumber } from "@loyalty-cards/internal/format";
import type { OutboxCounts, SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import type { Context } from "../command.ts";
import { CommandError, describeRejectedRow, exitCodes } from "../command-error.ts";
import { formatCount, formatTable, type Part, style, text } from "../printable.ts";
import type { ListIndex } from "./list-index.ts";
import { countEnded } from "./list-outbox.ts";
import type { InvalidRow } from "./read-row.ts";
import type { RowProblem } from "./row.ts";

/** The paths of what an import writes beside its list. */
export type ImportFiles = Record<"outbox" | "cards" | "rejected", string>;

/**
 * Asks whether to continue after the first rows. With `--yes` the run ends only when no card was
 * issued.
 */
export async function confirm(
  { ask, print, terminal }: Context,
  outbox: SqliteOutbox,
  {
    index,
    isYes,
    counts,
    signal,
  }: { index: ListIndex; isYes: boolean | undefined; counts: OutboxCounts; signal: AbortSignal },
): Promise<boolean> {
  const { issued, rejected, unknown, waiting } = counts;
  print.info(
    `First ${countEnded(counts)} rows: ${issued} issued, ${rejected} rejected, ${unknown} unknown.`,
  );
  if (isYes || ask === undefined) {
    if (issued === 0) print.error("Stopped, because none of the first rows was issued.");
    return issued > 0;
  }
  const reason = await findSharedReason(outbox, index, []);
  if (reason !== undefined) print.info(`${reasonStart}${reason}`);
  const interrupted = once(signal, "abort").then(() => false);
  const question = `Look at these cards in the service. Issue the other ${formatNumber(waiting)}?`;
  const isConfirmed = await Promise.race([ask(question), interrupted]);
  if (signal.aborted) terminal.stdin.unref?.(); // the read for the question is still waiting
  return isConfirmed;
}

const endings = { complete: "Complete", interrupted: "Interrupted", declined: "Stopped" };
/** How a run ended: each row has a result, Ctrl-C, or a person did not want to go on. */
export type ImportEnding = keyof typeof endings;

/** The counts are those of all runs. */
interface ImportResult {
  issued: number;
  /** How many of them had been issued before this run. */
  issuedBefore: number;
  /** How many cards that this run issued have other field values than those sent. */
  differing: number;
  rejected: number;
  unknown: number;
  /** Whether this run sent anything. */
  hasSent: boolean;
  ending: ImportEnding;
  /** The time of this run. */
  elapsedMs: number;
  /** That of all rejected rows, if they have the same. */
  reason: string | undefined;
}

function formatEnding(ending: ImportEnding, { rejected, unknown }: ImportResult): Part {
  if (ending !== "complete" || rejected + unknown === 0) return endings[ending];
  const found = rejected > 0 ? "rejected" : "unknown";
  return text`${style("red", "✗")} Finished with ${found} rows`;
}

/** @returns the exit code. */
export function printResult({ print }: Context, result: ImportResult, files: ImportFiles): number {
  const { issued, issuedBefore, differing, rejected, unknown, ending, elapsedMs } = result;
  const rows = issued + rejected + unknown;
  const names = { cards: basename(files.cards), rejected: basename(files.rejected) };
  const counts = { rows, issued, issuedBefore, differing, rejected, unknown, elapsedMs };
  print.data({ ...counts, ended: ending, files: names, outbox: basename(files.outbox) }, () => {
    const table = [
      ["  issued", formatNumber(issued), names.cards],
      ...(differing > 0 ? [["  differing", formatNumber(differing), "among the issued"]] : []),
      ...(rejected > 0 ? [["  rejected", formatNumber(rejected), names.rejected]] : []),
      ...(unknown > 0 ? [["  unknown", formatNumber(unknown), names.rejected]] : []),
    ];
    return text`${formatEnding(ending, result)}: ${formatCount(rows, "row")} in ${formatDuration(elapsedMs)}\n${formatTable(table)}`;
  });
  for (const line of explain(result)) print.info(line);
  if (ending === "interrupted") return exitCodes.interrupted;
  if (ending === "declined") return exitCodes.stopped;
  return rejected + unknown > 0 ? exitCodes.failed : exitCodes.complete;
}

/** What the counts mean, and how to go on. */
function* explain(result: ImportResult): Generator<Part> {
  const { issued, issuedBefore, differing, rejected, unknown, hasSent, ending, reason } = result;
  if (issuedBefore > 0) {
    const had = `${formatNumber(issuedBefore)} had cards before this run`;
    yield `${had}${hasSent ? "" : "; nothing was sent"}. Cards that exist keep their values.`;
  }
  if (differing > 0)
    yield "Differing cards have other field values than their rows: they are of earlier requests with these user ids, perhaps of other people, unless the service changes values.";
  const hasOnlyRejected = issued + unknown === 0 && rejected > 1;
  if (reason !== undefined)
    yield `${hasOnlyRejected ? "All rows were rejected for one reason: " : reasonStart}${reason}`;
  if (ending !== "complete") yield "To resume, run the same command again.";
  else if (rejected > 0)
    yield "Correct the rejected rows in the list, and run the same command again.";
}

const reasonStart = "Reason for the rejection: ";

/**
 * Finds the reason of the rejected rows, if all have the same. What the service says can quote a
 * customer, so it is returned only if the service says it of several rows.
 * @param invalid the rows that had problems, so they were not sent.
 */
export async function findSharedReason(
  outbox: SqliteOutbox,
  index: ListIndex,
  invalid: readonly RejectedRow[],
): Promise<string | undefined> {
  let shared: RowRejection | undefined;
  let count = 0;
  for await (const reason of listReasons(outbox, index, invalid)) {
    shared ??= reason;
    if (reason.said !== shared.said) return undefined;
    count++;
  }
  return count > 1 ? shared?.said : shared?.sentence;
}

/** Why a row was rejected: as the file of rejected rows has it, and without text of the service. */
interface RowRejection {
  said: string;
  sentence: string;
}

async function* listReasons(
  outbox: SqliteOutbox,
  index: ListIndex,
  invalid: readonly RejectedRow[],
): AsyncGenerator<RowRejection, void> {
  for (const { reason } of invalid) yield { said: reason, sentence: reason };
  for await (const { userId, error } of outbox.list({ state: "rejected" }))
    if (error !== undefined && index.findValidRow(userId) !== undefined)
      yield { said: describeRejectedRow(error), sentence: removeErrorLink(error.message) };
}

const headers = {
  cards: ["user_id", "card_id", "url"],
  rejected: ["line", "user_id", "code", "reason", "key"],
};

export async function* listCards(outbox: SqliteOutbox): AsyncGenerator<string[], void> {
  yield headers.cards;
  for await (const { userId, cardId = "", publicUrl = "" } of outbox.list({ state: "issued" }))
    yield [userId, cardId, publicUrl];
}

/** A row of the list that has no card, and why. */
export interface RejectedRow {
  line: number;
  userId: string;
  code: string;
  reason: string;
  /** Absent when the row was not sent. */
  idempotencyKey?: string;
}

/** The first problem has the code. */
export function toRejectedRow({ userId, problems }: InvalidRow): RejectedRow {
  const { line, code } = problems[0] as RowProblem;
  return { line, userId, code, reason: problems.map(({ message }) => message).join("; ") };
}

const toRejectedCells = ({ line, userId, code, reason, idempotencyKey = "" }: RejectedRow) => [
  String(line),
  userId,
  code,
  reason,
  idempotencyKey,
];

/** @param invalid the rows that had problems, so they were not sent. */
export async function* listRejected(
  outbox: SqliteOutbox,
  index: ListIndex,
  invalid: readonly RejectedRow[],
): AsyncGenerator<string[], void> {
  yield headers.rejected;
  for (const row of invalid) yield toRejectedCells(row);
  for (const state of ["rejected", "unknown"] as const)
    for await (const { userId, error, idempotencyKey } of outbox.list({ state })) {
      const line = index.findValidRow(userId);
      if (line === undefined) continue; // no longer in the list
      const isKnown = state === "rejected" && error;
      const reason = isKnown
        ? describeRejectedRow(error)
        : "A card may exist: look in the service's console.";
      const code = error?.code ?? state;
      yield toRejectedCells({ line, userId, code, reason, idempotencyKey });
    }
}

/** @throws {CommandError} for a file in the place of a result that no import wrote. */
export async function requireOwn(files: Record<keyof typeof headers, string>): Promise<void> {
  for (const kind of ["cards", "rejected"] as const) {
    const path = files[kind];
    const found = lstatSync(path, { throwIfNoEntry: false });
    // A link is replaced, and not its file.
    if (!found?.isFile() && !found?.isDirectory()) continue;
    const start = found.isFile() ? await readText(createReadStream(path, { end: 99 })) : "";
    const [header = ""] = start.split("\n");
    // A spreadsheet may have saved it with another delimiter and with quotes.
    if (header.match(/\w+/g)?.join() !== headers[kind].join())
      throw new CommandError(
        `${basename(path)} was not written by an import: rename it, or move it away.`,
      );
  }
}

/** Replaces the file of the last run. Only its owner can read it, because it has personal data. */
export async function writeCsv(
  path: string,
  delimiter: string,
  rows: AsyncIterable<string[]>,
): Promise<void> {
  const part = `${path}.part`;
  rmSync(part, { force: true }); // a run that was killed leaves it
  async function* toLines() {
    for await (const row of rows)
      yield `${row.map((cell) => quote(cell, delimiter)).join(delimiter)}\n`;
  }
  await pipeline(toLines, createWriteStream(part, { mode: 0o600, flags: "wx" }));
  renameSync(part, path);
}

/**
 * Puts a value on one line. A person opens the file in a spreadsheet, which must not run text of
 * the service or of the list: a formula gets the quote mark of a text, which no user id of a list
 * begins with. A number is not a formula.
 */
function quote(text: string, delimiter: string): string {
  const plain = text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
  const isFormula = /^\s*[=+\-@]/.test(plain) && !/^[+-]?\d+(?:[.,]\d+)?$/.test(plain);
  const line = isFormula ? `'${plain}` : plain;
  return line.includes('"') || line.includes(delimiter) ? `"${line.replaceAll('"', '""')}"` : line;
}
