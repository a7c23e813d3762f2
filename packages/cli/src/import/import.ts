/** `import FILE`: a card for each row of a list. The outbox in a file beside the list is the state, so the same command again resumes. */
import { rmSync } from "node:fs";
import { basename, join, parse, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isBusy, type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { type OutboxCounts, type SqliteOutbox, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import type { Context } from "../command.ts";
import {
  CommandError,
  describeSystemError,
  exitCodes,
  nameVariables,
  splitMessage,
} from "../command-error.ts";
import { readTemplateId } from "../configuration.ts";
import { Check, formatProblem, readRows } from "./check.ts";
import { openList } from "./list.ts";
import * as report from "./report.ts";
import { createIndex, type ImportRow, type ListIndex, type MappingOptions, toUserKey } from "./rows.ts";

interface ImportOptions extends MappingOptions {
  template?: string;
  skipInvalid?: boolean;
  yes?: boolean;
  concurrency?: number;
  maxPerSecond?: number;
}

const cardsBeforeQuestion = 10;
/** The maximum number of rows whose problems are printed. `import check` prints all of them. */
const maxPrintedRows = 20;
/** Failures that no retry can solve: a person must correct something first. */
const endingCodes: readonly string[] = ["unauthorized", "forbidden", "configuration", "not-found"];

export async function importFile(context: Context, options: ImportOptions, file: string): Promise<number> {
  const { print, terminal } = context;
  const path = resolve(terminal.cwd, file);
  const list = await openList(path);
  const template = readTemplateId(options.template, context.environment);
  if (context.ask === undefined && !options.yes)
    throw new CommandError("There is no terminal to ask on: use --yes to import without a question.");
  const client = await context.createClient();
  const { dir, name } = parse(path);
  const toPath = (kind: string) => join(dir, `${name}.${kind}.csv`);
  const files = { outbox: `${path}.outbox`, cards: toPath("cards"), rejected: toPath("rejected") };
  await report.requireOwn(files);
  const stopping = new AbortController();
  const { signal } = stopping;
  const progress = report.createProgress(print);
  /** Whether the service may have received a request. */
  let hasSent = false;
  let lastFailure: string | undefined;
  const outbox = sqliteOutbox({
    ...{ client, file: files.outbox, open: openForOneRun, log: () => {} },
    onOutcome(outcome) {
      if (outcome.outcome === "unavailable") stopping.abort(outcome.error);
      if (!("attempts" in outcome)) return;
      const isFailed = outcome.outcome === "failed";
      lastFailure = isFailed ? splitMessage(outcome.error as Error).text : undefined;
      if (isFailed && endingCodes.includes(outcome.code)) stopping.abort(outcome.error);
      else hasSent = true;
    },
  });

  const check = new Check();
  const invalid: string[][] = [];
  async function* readValidRows() {
    for await (const read of readRows(context, list, options, index)) {
      check.add(read);
      const [first] = read.problems;
      if (read.row !== undefined) yield read.row;
      if (first === undefined) continue;
      const reason = read.problems.map(({ message }) => message).join("; ");
      invalid.push([String(first.line), "", first.code, reason, ""]);
      if (invalid.length > maxPrintedRows) continue;
      for (const problem of read.problems) print.info(formatProblem(problem, print.messageColumns));
    }
  }

  /** Sends until `maxRows` more rows have a result, or all rows have one. It continues after an outage. */
  async function send(maxRows = Number.POSITIVE_INFINITY): Promise<OutboxCounts> {
    const { concurrency = 32, maxPerSecond = Number.POSITIVE_INFINITY } = options;
    let counts = await outbox.count();
    const end = report.countEnded(counts) + maxRows;
    while (counts.waiting > 0 && report.countEnded(counts) < end && !signal.aborted) {
      if (counts.paused.length > 0) await pause(1_000, undefined, { signal }).catch(() => {});
      counts = await outbox.drain({
        ...{ concurrency, maxPerSecond, signal, maxEntries: end - report.countEnded(counts) },
        onProgress: (now) => progress(now, lastFailure),
      });
    }
    return counts;
  }

  const index = createIndex();
  try {
    await claim(outbox, basename(files.outbox), template);
    const before = await outbox.count();
    await addRows(outbox, template, readValidRows());
    print.info(check.format(list.name).reflow(print.messageColumns));
    if (check.valid === 0 || (invalid.length > 0 && !options.skipInvalid)) {
      print.info("Nothing was sent. Correct the rows, or use --skip-invalid to import the others.");
      return exitCodes.usage;
    }
    await removeOthers(outbox, template, index);

    const removeListener = terminal.onInterrupt(() => {
      removeListener(); // a second Ctrl-C ends the process
      print.info("Stopping when the requests in flight have ended. Ctrl-C again ends at once.");
      stopping.abort("interrupted");
    });
    const startedAtMs = performance.now();
    // After an earlier run a person has already seen the first cards.
    const first = before.issued === 0 ? await send(cardsBeforeQuestion) : before;
    const isAsked = first !== before && first.waiting > 0 && !signal.aborted;
    const isConfirmed = !isAsked || (await report.confirm(context, options.yes, first, signal));
    if (isConfirmed) await send();
    print.status(undefined);
    if (signal.aborted && signal.reason !== "interrupted") throw signal.reason;
    await report.writeCsv(files.cards, list.delimiter, report.listCards(outbox));
    await report.writeCsv(files.rejected, list.delimiter, report.listRejected(outbox, index, invalid));
    const counts = await outbox.count();
    counts.rejected += invalid.length;
    const ended = signal.aborted ? "interrupted" : isConfirmed ? "complete" : "declined";
    return report.printResult(context, counts, files, ended, Math.round(performance.now() - startedAtMs));
  } catch (error) {
    throw toCommandError(error, basename(files.outbox), hasSent);
  } finally {
    index.close();
    await closeOutbox(outbox, files.outbox);
  }
}

/** Opens a file with SQLite's own lock, which is held until the file is closed or the process ends. */
const openForOneRun: OpenSqlite = (file) => {
  const database = openSqlite(file);
  database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    close() {
      // The connection of libsql is open until its statements are garbage, so the lock is released before.
      database.exec(
        "PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_master",
      );
      database.close();
    },
  };
};

/** @throws for a file that is not an outbox, that another run uses, or that is of another service or template. */
async function claim(outbox: SqliteOutbox, name: string, template: string): Promise<void> {
  await outbox.write((database) => {
    // No other run uses the file: what an earlier one was sending when it was killed is due at once.
    database.exec("UPDATE issuing_outbox_entries SET due = 0 WHERE lease IS NOT NULL");
  });
  for await (const entry of outbox.list({ limit: 1 }))
    if (entry.template !== template)
      throw new CommandError(
        `${name} has the cards of template ${entry.template}: use that template, or move the file away.`,
      );
}

/** Adds the rows. What was rejected is sent again. Unless the service may have received a row, its form becomes that of the list. */
async function addRows(outbox: SqliteOutbox, template: string, rows: AsyncIterable<ImportRow>) {
  let batch: ImportRow[] = [];
  async function flush() {
    const states = await outbox.write((database) =>
      batch.map(({ userId, request }) => outbox.correct(database, userId, request, { template })),
    );
    const added = batch.filter((_, at) => states[at] === "absent");
    await outbox.addAll(added.map((row) => ({ ...row, template })));
    batch = [];
  }
  for await (const row of rows) if (batch.push(row) === 200) await flush();
  await flush();
}

/** Removes what is no longer in the list, unless there is a card or the service may still issue one. */
async function removeOthers(outbox: SqliteOutbox, template: string, index: ListIndex): Promise<void> {
  for await (const { userId, state, firstAttemptAt } of outbox.list()) {
    const isStarted = state === "waiting" && firstAttemptAt !== undefined;
    if (state !== "issued" && !isStarted && index.find(toUserKey(userId)) === undefined)
      await outbox.forget(userId, { template });
  }
}

/** Closes the outbox. One from which nothing was sent is removed: another run reads the list again. */
async function closeOutbox(outbox: SqliteOutbox, file: string): Promise<void> {
  const counts = await outbox.count().catch(() => undefined); // the disk can be full
  await outbox.close();
  if (counts !== undefined && report.countEnded(counts) === 0 && counts.nextExpiryAt === undefined)
    rmSync(file);
}

/** Converts an error to one with an exit code. After rows were sent, the message says that the same command resumes. */
function toCommandError(error: unknown, outbox: string, hasSent: boolean): unknown {
  const { code, message, cause } = error as { code?: unknown; message: string; cause?: unknown };
  let problem: string | undefined;
  if (isIssuingError(error)) problem = code === "not-found" ? splitMessage(error).text : undefined;
  else if (isBusy(cause)) problem = `${outbox} is used by another run: wait for it, or stop it.`;
  else if (cause instanceof Error) problem = `${outbox} cannot be used: ${nameVariables(cause.message)}.`;
  else if (String(code).includes("SQLITE")) problem = `${outbox} cannot be used: ${message}.`;
  else if (!(error instanceof CommandError)) problem = describeSystemError(error);
  if (problem === undefined) return error; // it has an exit code
  if (!hasSent) return new CommandError(problem);
  const advice = "Run the same command again: no row gets a second card.";
  return new CommandError(`${problem} ${advice}`, { exitCode: exitCodes.stopped });
}
