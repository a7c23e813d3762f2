/** Runs an import: reads the list into the outbox, sends ten rows, asks, sends the rest, and writes the result of each row. */
import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { OutboxCounts, OutboxOutcome } from "@loyalty-cards/issuing-outbox";
import type { Context } from "../command.ts";
import { CommandError, splitMessage } from "../command-error.ts";
import { type ImportFiles, listOutboxFiles, type Source } from "./files.ts";
import { type ListRow, OutboxFile, toListRow } from "./outbox-file.ts";
import { type Counts, countRows, ProgressDisplay, ThroughputMeter } from "./progress.ts";
import type { SourceRecord } from "./records.ts";
import { createFormat, ResultFiles } from "./result-files.ts";
import type { ReadRow } from "./rows.ts";
import type { RunDescription } from "./tables.ts";

const trialSize = 10;
/** The number of rows from which the share of rejected rows is meaningful. */
export const minRowsForShare = 100;
const rowsPerWrite = 200;
const tickMs = 500;
/** Failures that no retry can solve: a person must correct something first. */
const endingCodes: ReadonlySet<string> = new Set(["unauthorized", "forbidden", "configuration", "not-found"]);

export interface RunOptions extends RunDescription {
  context: Pick<Context, "terminal" | "print" | "globals">;
  client: IssuingClient;
  input: Source;
  files: ImportFiles;
  concurrency?: number | undefined;
  maxPerSecond?: number | undefined;
  /** The share of rejected rows, from 0 to 1, that stops the run. */
  abortOver?: number | undefined;
}

export interface RunResult extends Counts {
  /** Rows that have a result. */
  rows: number;
  elapsedMs: number;
  ended: "complete" | "interrupted" | "declined" | "too-many-rejected";
}

/** Asks whether to continue after the first rows. @param left how many are not sent. */
export type Confirm = (first: Omit<Counts, "replayed">, left: number) => Promise<boolean>;

/** Why a run ends before the last row. */
type Stop = Exclude<RunResult["ended"], "complete"> | { error: unknown };

export class ImportRun {
  /** Whether the service may have received a request. */
  hasSent = false;
  readonly #options: RunOptions;
  readonly #results: ResultFiles;
  readonly #display: ProgressDisplay;
  readonly #throughput = new ThroughputMeter();
  readonly #stopping = new AbortController();
  #opened: OutboxFile | undefined;
  #batch: ListRow[] = [];
  #stopped: Stop | undefined;
  #total = 0;
  /** The time of the run, without the time for the reply to the question. */
  #elapsedMs = 0;
  #isPaused = false;
  #lastFailure: unknown;

  constructor(options: RunOptions) {
    const { context, files } = options;
    this.#options = options;
    this.#display = new ProgressDisplay(context.print);
    this.#results = new ResultFiles(files);
  }

  /** @throws {CommandError} for a file that another run uses, and for files that are not of this import. */
  async open(): Promise<void> {
    const { client, template, source, files } = this.#options;
    if (!existsSync(files.outbox)) this.#results.check([]); // before the outbox is created
    this.#opened = new OutboxFile({
      ...{ client, template, source, path: files.outbox },
      onOutcome: (outcome) => this.#onOutcome(outcome),
    });
    await this.#opened.claim();
    this.#results.check(this.#opened.tables.results);
  }

  get #file(): OutboxFile {
    if (this.#opened === undefined) throw new Error("The run is not open.");
    return this.#opened;
  }

  /** Reads a row of the list into the outbox. Nothing is sent. */
  async add(record: SourceRecord, read: ReadRow): Promise<void> {
    this.#batch.push(toListRow(record, read));
    if (this.#batch.length === rowsPerWrite) await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#file.add(this.#batch);
    this.#batch = [];
  }

  /** Call it after the last `add`. @param total how many rows were added. */
  async finishReading(total: number): Promise<void> {
    this.#total = total;
    await this.#flush();
    await this.#file.removeOthers();
  }

  /** @param isLimited whether the list has more rows. */
  async send(isLimited: boolean, confirm: Confirm): Promise<RunResult> {
    const file = this.#file;
    const { issued, replayed, rejected, unknown } = file.counts;
    // After an earlier run a person has already seen the first cards.
    const isTrial = replayed === 0;
    const { waiting } = await this.#drain(isTrial ? trialSize : undefined);
    if (isTrial && waiting > 0 && this.#stopped === undefined) {
      const { counts } = file;
      const first = {
        issued: counts.issued - issued,
        rejected: counts.rejected - rejected,
        unknown: counts.unknown - unknown,
      };
      if (await this.#isConfirmed(confirm(first, waiting))) await this.#drain();
      else this.#stop("declined");
    }
    const isComplete = this.#stopped === undefined;
    try {
      if (this.hasSent || typeof this.#stopped !== "object")
        await this.#writeResults(isComplete && !isLimited);
    } catch (error) {
      this.#stop({ error });
    }
    if (typeof this.#stopped === "object") throw this.#stopped.error;
    const elapsedMs = Math.round(this.#elapsedMs);
    return { rows: countRows(file.counts), ...file.counts, elapsedMs, ended: this.#stopped ?? "complete" };
  }

  async close(): Promise<void> {
    if (this.#opened === undefined) return;
    // An unused outbox is removed: another run reads the list again.
    const isUnused = await this.#opened.isUnused().catch(() => false); // the disk can be full
    await this.#opened.close();
    if (isUnused) for (const path of listOutboxFiles(this.#options.files)) rmSync(path, { force: true });
  }

  /** Sends until `maxRows` more rows have a result, or all rows have one. It continues after an outage. */
  async #drain(maxRows = Number.POSITIVE_INFINITY): Promise<OutboxCounts> {
    const { context, concurrency = 32, maxPerSecond = Number.POSITIVE_INFINITY } = this.#options;
    const { signal } = this.#stopping;
    const { outbox, counts } = this.#file;
    const removeListener = context.terminal.onInterrupt(() => {
      removeListener(); // a second Ctrl-C ends the process
      context.print.info("Stopping when the requests in flight have ended. Ctrl-C again ends at once.");
      this.#stop("interrupted");
    });
    const startedAtMs = performance.now() - this.#elapsedMs;
    const ticker = setInterval(() => {
      this.#elapsedMs = performance.now() - startedAtMs;
      this.#showProgress();
    }, tickMs);
    const end = countRows(counts) + maxRows;
    try {
      for (;;) {
        const maxEntries = end - countRows(counts);
        const state = await outbox.drain({ concurrency, maxPerSecond, maxEntries, signal });
        const isDone = state.waiting + state.undelivered === 0 || countRows(counts) >= end;
        if (isDone || signal.aborted) return state;
        this.#isPaused = state.paused.length > 0;
        await pause(2 * tickMs, undefined, { signal }).catch(() => {});
      }
    } finally {
      removeListener();
      clearInterval(ticker);
      this.#display.clear();
      this.#elapsedMs = performance.now() - startedAtMs;
    }
  }

  #showProgress(): void {
    const { counts } = this.#file;
    const sent = counts.issued + counts.rejected + counts.unknown;
    this.#display.update({
      ...counts,
      ...(this.#isPaused && { pausedBy: this.#describeFailure() }),
      ...this.#throughput.measure(this.#elapsedMs, sent, this.#total - countRows(counts)),
      total: this.#total,
      elapsedMs: this.#elapsedMs,
    });
  }

  #describeFailure(): string {
    if (!(this.#lastFailure instanceof Error)) return "The service failed in an earlier run.";
    return splitMessage(this.#lastFailure, this.#options.context.globals).text;
  }

  #onOutcome(outcome: OutboxOutcome): void {
    const { print } = this.#options.context;
    switch (outcome.outcome) {
      case "issued":
      case "rejected":
      case "unknown":
        this.hasSent = true;
        this.#stopWhenTooManyRejected();
        break;
      case "failed":
        this.#lastFailure = outcome.error;
        if (endingCodes.has(outcome.code)) this.#stop({ error: toEndingError(outcome.error) });
        else this.hasSent = true;
        break;
      case "paused":
      case "resumed":
        this.#isPaused = outcome.outcome === "paused";
        break;
      case "unavailable":
      case "not-delivered":
        if (this.#stopped === undefined)
          print.info("The outbox cannot be written. Stopping within a minute.");
        this.#stop({ error: outcome.error });
    }
  }

  #stopWhenTooManyRejected(): void {
    const { counts } = this.#file;
    const rows = countRows(counts);
    if (rows >= minRowsForShare && counts.rejected > rows * (this.#options.abortOver ?? 1))
      this.#stop("too-many-rejected");
  }

  #stop(stop: Stop): void {
    this.#stopped ??= stop;
    this.#stopping.abort();
  }

  /** Waits for the reply. Ctrl-C ends the run here too, and the command that resumes it is printed. */
  async #isConfirmed(reply: Promise<boolean>): Promise<boolean> {
    const { terminal, print } = this.#options.context;
    let removeListener = () => {};
    const interrupted = new Promise<boolean>((resolve) => {
      removeListener = terminal.onInterrupt(() => {
        this.#stop("interrupted");
        terminal.stdin.unref?.(); // the read for the question is still waiting
        print.info("");
        resolve(false);
      });
    });
    try {
      return await Promise.race([reply, interrupted]);
    } finally {
      removeListener();
    }
  }

  /** @param isWhole whether the whole list was read and each row has a result. */
  async #writeResults(isWhole: boolean): Promise<void> {
    const file = this.#file;
    const { input, files } = this.#options;
    const { outbox, tables } = file;
    const { rejectedHeader, formatRejected, cardsHeader, formatCard } = createFormat(input);
    const temporaryName = createHash("sha256").update(files.outbox).digest("hex").slice(0, 8);
    const store = (hash: string) => outbox.write(() => tables.addResult(hash));
    await file.recount();
    if (isWhole) await outbox.write(() => tables.removeEarlier());
    if (isWhole || !tables.hasErased())
      await this.#results.replace(
        "rejected",
        temporaryName,
        rejectedHeader,
        tables.readRejected(),
        formatRejected,
        store,
      );
    await this.#results.replace("cards", temporaryName, cardsHeader, tables.readIssued(), formatCard, store);
    if (isWhole) await outbox.write(() => tables.erase());
  }
}

/** A missing template is a mistake in the command line, not in the key. */
const toEndingError = (error: unknown): unknown =>
  isIssuingError(error) && error.code === "not-found" ? new CommandError(splitMessage(error).text) : error;
