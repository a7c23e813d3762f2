/** `import FILE`: a card for each row of a list. The outbox in a file beside the list is the state, so the same command again resumes. */
import { existsSync } from "node:fs";
import { basename, join, parse, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isBusy } from "@loyalty-cards/internal/sqlite/database-node";
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { type OutboxCounts, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
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
import type { MappingOptions } from "./mapping.ts";
import { addRows, claim, closeOutbox, isUnused, openForOneRun, removeOthers } from "./outbox-file.ts";
import {
  confirm,
  countEnded,
  createProgress,
  listCards,
  listRejected,
  printResult,
  writeCsv,
} from "./report.ts";
import { createIndex } from "./rows.ts";

export interface ImportOptions extends MappingOptions {
  template?: string;
  skipInvalid?: boolean;
  yes?: boolean;
  concurrency?: number;
  maxPerSecond?: number;
}

/** The number of cards that are issued before the question. */
const trialSize = 10;
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
  const files = findFiles(path);
  const stopping = new AbortController();
  const { signal } = stopping;
  const progress = createProgress(print);
  /** Whether the service may have received a request. */
  let hasSent = false;
  /** The failure of the last request. */
  let failure: string | undefined;
  const outbox = sqliteOutbox({
    ...{ client, file: files.outbox, open: openForOneRun, log: () => {} },
    onOutcome(outcome) {
      if (outcome.outcome === "unavailable") stopping.abort(outcome.error);
      if (!("attempts" in outcome)) return;
      const isFailed = outcome.outcome === "failed";
      failure = isFailed ? splitMessage(outcome.error as Error, context.globals).text : undefined;
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
    const end = countEnded(counts) + maxRows;
    while (counts.waiting > 0 && countEnded(counts) < end && !signal.aborted) {
      if (counts.paused.length > 0) await pause(1_000, undefined, { signal }).catch(() => {});
      counts = await outbox.drain({
        ...{ concurrency, maxPerSecond, signal, maxEntries: end - countEnded(counts) },
        onProgress: (now) => progress(now, failure),
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
      stopping.abort(
        new CommandError("Interrupted, and no card was issued.", { exitCode: exitCodes.interrupted }),
      );
    });
    const startedAtMs = performance.now();
    // After an earlier run a person has already seen the first cards.
    const first = before.issued === 0 ? await send(trialSize) : before;
    const isAsked = before.issued === 0 && first.waiting > 0 && !signal.aborted;
    const isConfirmed = !isAsked || (await confirm(context, options.yes, first, signal));
    if (isConfirmed) await send();
    print.status(undefined);
    const counts = await outbox.count();
    if (signal.aborted && isUnused(counts)) throw signal.reason;
    await writeCsv(files.cards, list.delimiter, listCards(outbox));
    await writeCsv(files.rejected, list.delimiter, listRejected(outbox, index, invalid));
    if (signal.aborted && !(signal.reason instanceof CommandError)) throw signal.reason;
    counts.rejected += invalid.length;
    const ended = signal.aborted ? "interrupted" : isConfirmed ? "complete" : "declined";
    return printResult(context, counts, files, ended, Math.round(performance.now() - startedAtMs));
  } catch (error) {
    throw toCommandError(error, basename(files.outbox), hasSent);
  } finally {
    index.close();
    await closeOutbox(outbox, files.outbox);
  }
}

/** The files beside the list. @throws {CommandError} when the first run would replace files of others. */
function findFiles(path: string) {
  const { dir, name } = parse(path);
  const toPath = (kind: string) => join(dir, `${name}.${kind}.csv`);
  const files = { outbox: `${path}.outbox`, cards: toPath("cards"), rejected: toPath("rejected") };
  for (const file of [files.cards, files.rejected])
    if (!existsSync(files.outbox) && existsSync(file))
      throw new CommandError(`${basename(file)} exists, and is not of this import: move it away.`);
  return files;
}

/** Converts an error to one with an exit code. After rows were sent, the message says that the same command resumes. */
function toCommandError(error: unknown, outbox: string, hasSent: boolean): unknown {
  const { code, message, cause } = error as { code?: unknown; message: string; cause?: unknown };
  let problem: string | undefined;
  if (isIssuingError(error)) problem = code === "not-found" ? splitMessage(error).text : undefined;
  else if (isBusy(cause ?? {})) problem = `${outbox} is used by another run: wait for it, or stop it.`;
  else if (cause instanceof Error) problem = `${outbox} cannot be used: ${nameVariables(cause.message)}.`;
  else if (String(code).includes("SQLITE")) problem = `${outbox} cannot be used: ${message}.`;
  else if (!(error instanceof CommandError)) problem = describeSystemError(error);
  if (problem === undefined) return error; // it has an exit code
  if (!hasSent) return new CommandError(problem);
  const advice = "Run the same command again: no row gets a second card.";
  return new CommandError(`${problem} ${advice}`, { exitCode: exitCodes.stopped });
}
