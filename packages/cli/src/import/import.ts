/** `import FILE`: a card for each row of a list, in phases: prepare, read, ask, send, write. */
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { OutboxCounts, SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { readTemplateId } from "../configuration.ts";
import { formatCount } from "../printable.ts";
import { ListSummary } from "./check.ts";
import { type List, openListFile } from "./list.ts";
import { createIndex, type ListIndex } from "./list-index.ts";
import {
  addRows,
  claim,
  closeListOutbox,
  correctRows,
  countEnded,
  countListed,
  countUsersWithCards,
  openListOutbox,
  removeOthers,
} from "./list-outbox.ts";
import { type MappingOptions, parseMapping } from "./mapping.ts";
import { createProgress, type Progress } from "./progress.ts";
import { readRows } from "./read-row.ts";
import * as report from "./report.ts";
import { toRunError } from "./run-error.ts";
import { createRunFacts, type RunFacts } from "./run-facts.ts";

interface ImportOptions extends MappingOptions {
  template?: string;
  outbox?: string;
  skipInvalid?: boolean;
  yes?: boolean;
  concurrency?: number;
  maxPerSecond?: number;
}

const cardsBeforeQuestion = 10;

/** What the phases of one run share. */
interface Run {
  context: Context;
  options: ImportOptions;
  list: List;
  template: string;
  files: report.ImportFiles;
  outbox: SqliteOutbox;
  /** Whether this run creates the outbox. */
  isNew: boolean;
  facts: RunFacts;
  /** The valid rows of the list. */
  index: ListIndex;
  /** Ends the sending: its reason is `interrupted`, or the error that the run ends with. */
  stopping: AbortController;
}

export async function importFile(
  context: Context,
  options: ImportOptions,
  file: string,
): Promise<number> {
  const run = await prepare(context, options, file);
  const { outbox, isNew, template, files, index, facts } = run;
  try {
    await claim(outbox, files.outbox, template);
    const { issued: issuedBefore } = await outbox.count();
    // When there are more cards, a person said yes in an earlier run.
    const needsYes = issuedBefore <= cardsBeforeQuestion;
    const invalid = await read(run, needsYes);
    await removeOthers(outbox, template, index);
    let sentAsBefore = await addRows(outbox, template, index);
    const startedAtMs = performance.now();
    let ending = await sendAll(run, needsYes);
    // Those that were rejected as they were before are sent as they are now.
    while (ending === "complete" && sentAsBefore.length > 0) {
      ({ sentAsBefore } = await correctRows(outbox, template, sentAsBefore));
      ending = await sendAll(run, false);
    }
    return await write(run, invalid, ending, { startedAtMs, issuedBefore });
  } catch (error) {
    throw await toRunError(error, files.outbox, { hasSent: facts.hasSent() });
  } finally {
    index.close();
    await closeListOutbox(outbox, files.outbox, isNew);
  }
}

/** @throws {CommandError} before anything is sent or written, for what the user must correct. */
async function prepare(context: Context, options: ImportOptions, file: string): Promise<Run> {
  const files = toFiles(context.terminal.cwd, file, options.outbox);
  const list = await openListFile(context.terminal, file);
  parseMapping(list, options); // It throws for a missing column before the user is asked.
  const template = readTemplateId(options.template, context.environment);
  await report.requireOwn(files);
  const stopping = new AbortController();
  const facts = createRunFacts();
  const { outbox, isNew } = await openListOutbox(context, files.outbox, facts, stopping);
  const index = createIndex();
  return { context, options, list, template, files, outbox, isNew, facts, index, stopping };
}

/**
 * @param outbox the option `--outbox`. Default: beside the list.
 * @throws {CommandError} for stdin and other pipes of a shell, which have no folder, without it.
 */
function toFiles(cwd: string, file: string, outbox: string | undefined): report.ImportFiles {
  if (outbox === undefined && /^-$|^\/dev\/(?:stdin$|fd\/)/.test(file))
    throw new CommandError(
      "A list on stdin needs --outbox FILE: the file has what was sent, so that the same command resumes. The results are written beside it.",
    );
  const path = resolve(cwd, outbox ?? `${file}.outbox`);
  const start = path.replace(/(?:\.csv)?\.outbox$/, "");
  return { outbox: path, cards: `${start}.cards.csv`, rejected: `${start}.rejected.csv` };
}

/**
 * Reads the list, stores its valid rows in the index, and prints the problems of the others.
 * @returns the invalid rows, for the file of rejected ones.
 * @throws {CommandError} for a list that the options do not allow to send.
 */
async function read(run: Run, needsYes: boolean) {
  const { context, options, list, index } = run;
  const { print } = context;
  const summary = new ListSummary();
  const invalid: report.RejectedRow[] = [];
  for await (const { value, failure } of readRows(context, list, options, index)) {
    summary.add(failure?.problems ?? []);
    if (failure === undefined) index.store(value);
    else invalid.push(report.toRejectedRow(failure));
  }
  print.info(summary.format(list.name, print.messageColumns));
  await requireSameUsers(run); // before the advice to use --yes, which would send the others
  const advice = [];
  if (summary.valid === 0) advice.push("Correct the rows.");
  else if (invalid.length > 0 && !options.skipInvalid)
    advice.push("Correct the rows, or use --skip-invalid to import the others.");
  if (needsYes && context.ask === undefined && !options.yes)
    advice.push("There is no terminal to ask on: use --yes to import without a question.");
  if (advice.length > 0) throw new CommandError(`Nothing was sent. ${advice.join(" ")}`);
  return invalid;
}

/**
 * Compares the list with the users who have cards or may have them: after a change of the user ids,
 * such as lost leading zeros, the same people would get second cards.
 * @throws {CommandError} when some are not in the list, unless `--yes` says that they left; and
 * when none is.
 */
async function requireSameUsers({ context, options, outbox, index }: Run): Promise<void> {
  const { listed, others } = await countUsersWithCards(outbox, index);
  if (others === 0) return;
  const cards = formatCount(others, "card");
  if (listed === 0)
    throw new CommandError(
      `Earlier runs requested ${cards}, and the list has none of their user ids: the same people would get second cards. Map userId to the same column as before. For another list, use --outbox FILE.`,
    );
  const problem = `The list does not have the user ids of ${cards} of earlier runs`;
  if (!options.yes)
    throw new CommandError(
      `${problem}. With other ids, the same people would get second cards: correct the ids. If the rows were removed, use --yes.`,
    );
  context.print.info(`${problem}.`);
}

/**
 * Sends until each row has a result.
 * @param needsYes whether a person is asked to look at the first cards.
 * @throws the error that ended the run.
 */
async function sendAll(run: Run, needsYes: boolean): Promise<report.ImportEnding> {
  const { context, stopping } = run;
  const { print, terminal } = context;
  const { signal } = stopping;
  const removeListener = terminal.onInterrupt(() => {
    removeListener(); // a second Ctrl-C ends the process
    print.info("Stopping when the requests in flight have ended. Ctrl-C again ends at once.");
    stopping.abort("interrupted");
  });
  const progress = createProgress(print);
  let isConfirmed: boolean;
  try {
    isConfirmed = !needsYes || (await sendFirst(run, progress));
    if (isConfirmed) await send(run, progress, Number.POSITIVE_INFINITY);
  } finally {
    print.status(undefined);
    removeListener();
  }
  if (!signal.aborted) return isConfirmed ? "complete" : "declined";
  if (signal.reason === "interrupted") return "interrupted";
  throw signal.reason;
}

/** @returns whether the others are sent too. */
async function sendFirst(run: Run, progress: Progress): Promise<boolean> {
  const { context, options, outbox, index, stopping } = run;
  const { signal } = stopping;
  const { issued } = await outbox.count();
  const counts = await send(run, progress, cardsBeforeQuestion - issued);
  if (counts.waiting === 0 || signal.aborted) return true;
  return report.confirm(context, outbox, { index, isYes: options.yes, counts, signal });
}

/**
 * Sends until `maxRows` more rows have a result, or all rows have one. It continues after an
 * outage, and when the rows that failed are due again.
 */
async function send(
  { options, outbox, facts, stopping }: Run,
  progress: Progress,
  maxRows: number,
): Promise<OutboxCounts> {
  const { concurrency = 32, maxPerSecond = Number.POSITIVE_INFINITY } = options;
  const { signal } = stopping;
  let counts = await outbox.count();
  const target = countEnded(counts) + maxRows;
  const isOver = () => counts.waiting === 0 || countEnded(counts) >= target || signal.aborted;
  for (let round = 0; !isOver(); round++) {
    facts.startRound(round, counts);
    // `drain` ends at once when the next row is due in more than ten seconds. Before the first
    // round there can be an outage that an earlier run found out.
    if (round > 0 || counts.paused.length > 0)
      await pause(1_000, undefined, { signal }).catch(() => {});
    counts = await outbox.drain({
      concurrency,
      maxPerSecond,
      signal,
      maxEntries: target - countEnded(counts),
      onProgress: (now) => progress.update(now, facts.getService()),
    });
  }
  progress.stop();
  return counts;
}

/**
 * Writes the files of cards and rejected rows, and prints the result.
 * @param start when this run began to send, and how many cards there were.
 * @returns the exit code.
 */
async function write(
  { context, list, files, outbox, facts, index }: Run,
  invalid: readonly report.RejectedRow[],
  ending: report.ImportEnding,
  start: { startedAtMs: number; issuedBefore: number },
): Promise<number> {
  const { delimiter } = list;
  await report.writeCsv(files.cards, delimiter, report.listCards(outbox));
  const rejected = report.listRejected(outbox, index, invalid);
  await report.writeCsv(files.rejected, delimiter, rejected);
  const counts = await outbox.count();
  const result = {
    ...counts,
    rejected: (await countListed(outbox, index, "rejected")) + invalid.length,
    unknown: await countListed(outbox, index, "unknown"),
    issuedBefore: start.issuedBefore,
    differing: facts.getDiffering(),
    hasSent: facts.hasSent(),
    ending,
    elapsedMs: Math.round(performance.now() - start.startedAtMs),
    reason: await report.findSharedReason(outbox, index, invalid),
  };
  return report.printResult(context, result, files);
}
