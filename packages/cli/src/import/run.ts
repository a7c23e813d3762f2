/** Runs an import: ten rows first, a question, then the rest; and writes what became of each row. */
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import type { BulkResult, Checkpoint, CheckpointSession } from "@loyalty-cards/issuing-client/bulk";
import type { Context } from "../command.ts";
import { CommandError, describeSystemError, exitCodes } from "../command-error.ts";
import { describeRejection, splitMessage } from "../error-message.ts";
import { Text } from "../printable.ts";
import type { Printer } from "../printer.ts";
import { formatCount, formatNumber, ProgressDisplay } from "./progress.ts";
import type { RecordSource } from "./records.ts";
import type { ResultFiles } from "./result-files.ts";
import type { ImportRow, RowReader } from "./rows.ts";

const canarySize = 10;

/** Fewer rows say nothing about a share. */
export const minRowsForShare = 100;

export interface RunOptions {
  client: IssuingClient;
  terminal: Context["terminal"];
  print: Printer;
  source: RecordSource;
  reader: RowReader;
  files: ResultFiles;
  template: string;
  /** The path of the checkpoint. */
  checkpoint: string;
  /** The source and its mapping, for the checkpoint. */
  description: string;
  /** How many rows are read at most. */
  limit?: number | undefined;
  /** How many rows there are, and how many of them are valid, when that is known. */
  total?: { rows: number; valid: number } | undefined;
  concurrency?: number | undefined;
  maxPerSecond?: number | undefined;
  /** The share of rejected rows, from 0 to 1, that stops the run. */
  abortOver?: number | undefined;
  /** Asks whether to continue after the first rows. */
  confirm: (counts: Counts) => Promise<boolean>;
}

export interface RunResult {
  /** Rows that have a result. */
  rows: number;
  issued: number;
  /** Rows whose card an earlier run had issued. */
  replayed: number;
  rejected: number;
  unknown: number;
  elapsedMs: number;
  ended: "complete" | "interrupted" | "declined" | "too-many-rejected";
}

/** Why a run ends before the last row. */
type Stop = Exclude<RunResult["ended"], "complete">;

export type Counts = Pick<RunResult, "issued" | "replayed" | "rejected" | "unknown">;

/**
 * @throws {IssuingError} when the API key is refused.
 * @throws {CommandError} for an unusable checkpoint, and for a source that cannot be read to its end.
 */
export function runImport(options: RunOptions): Promise<RunResult> {
  return new ImportRun(options).run();
}

class ImportRun {
  readonly #options: RunOptions;
  readonly #counts: Counts = { issued: 0, replayed: 0, rejected: 0, unknown: 0 };
  readonly #stopping = new AbortController();
  readonly #display: ProgressDisplay;
  readonly #checkpoint: SharedCheckpoint;
  /** Rejected rows that were not sent. */
  #invalid = 0;
  /** The file has more rows than `--limit`. */
  #isLimited = false;
  /** Without the time for the answer to the question. */
  #elapsedMs = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#display = new ProgressDisplay(options.print);
    this.#checkpoint = new SharedCheckpoint(options.checkpoint);
  }

  async run(): Promise<RunResult> {
    const { files } = this.#options;
    const rows = this.#readRows();
    let isWhole = false;
    try {
      try {
        await this.#issueAll(rows);
        this.#compareWithCheck();
        isWhole = !this.#stopping.signal.aborted;
      } finally {
        await rows.return();
        files.finish(isWhole && !this.#isLimited);
      }
    } catch (error) {
      if (!this.#stopping.signal.aborted || error !== this.#stopping.signal.reason)
        throw toCommandError(error, this.#checkpoint.hasRecords);
    } finally {
      await this.#checkpoint.close();
    }
    const ended: RunResult["ended"] = isWhole ? "complete" : this.#stopping.signal.reason;
    return { rows: this.#countRows(), ...this.#counts, elapsedMs: Math.round(this.#elapsedMs), ended };
  }

  /** Ten rows, a question, and the rest. */
  async #issueAll(rows: AsyncGenerator<ImportRow, void>): Promise<void> {
    await this.#issue(take(rows, canarySize));
    const next = await rows.next();
    if (next.done) return;
    // Rows that an earlier run issued are no reason to ask again.
    const isNew = this.#counts.replayed < this.#countRows();
    if (isNew && !(await this.#isConfirmed())) this.#stop("declined");
    else await this.#issue(prepend(next.value, rows));
  }

  /** @throws {CommandError} when the file was changed since it was checked: rows that are gone must not pass unnoticed. */
  #compareWithCheck(): void {
    const { total } = this.#options;
    const rows = this.#countRows();
    if (total === undefined || total.rows === rows || this.#stopping.signal.aborted) return;
    throw new CommandError(
      `The file had ${formatCount(total.rows, "row")} when it was checked, and ${formatNumber(rows)} when it was imported: it was changed meanwhile. Run the same command again.`,
      exitCodes.stopped,
    );
  }

  /** Asks. Ctrl-C ends the run here too, with the command that resumes. */
  async #isConfirmed(): Promise<boolean> {
    const { confirm, terminal, print } = this.#options;
    let removeListener = () => {};
    const interrupted = new Promise<boolean>((resolve) => {
      removeListener = terminal.onInterrupt(() => {
        this.#stop("interrupted");
        terminal.stdin.unref?.(); // the question still waits for its line
        print.info("");
        resolve(false);
      });
    });
    try {
      return await Promise.race([confirm(this.#counts), interrupted]);
    } finally {
      removeListener();
    }
  }

  #countRows(): number {
    const { issued, replayed, rejected, unknown } = this.#counts;
    return issued + replayed + rejected + unknown;
  }

  #stop(reason: Stop): void {
    this.#stopping.abort(reason);
  }

  /** The valid rows. The others are rejected here, and not sent. */
  async *#readRows(): AsyncGenerator<ImportRow, void> {
    const { source, reader, files, limit = Number.POSITIVE_INFINITY } = this.#options;
    let count = 0;
    for await (const record of source.records) {
      if (++count > limit) {
        this.#isLimited = true;
        return;
      }
      const { row, problems } = reader.read(record);
      if (row !== undefined) {
        yield row;
        continue;
      }
      const found = problems.filter(({ severity }) => severity === "problem");
      const reason = found.map(({ message }) => message).join("; ");
      files.addRejected(record, { code: found[0]?.code ?? "", reason, key: "" });
      this.#invalid++;
      this.#count("rejected");
    }
  }

  async #issue(rows: AsyncIterable<ImportRow>): Promise<void> {
    const { issueCards } = await import("@loyalty-cards/issuing-client/bulk");
    const { client, terminal, print, template, description, total } = this.#options;
    const { concurrency, maxPerSecond } = this.#options;
    const removeListener = terminal.onInterrupt(() => {
      removeListener(); // a second Ctrl-C ends the process
      print.info("Stopping when the requests in flight have ended. Ctrl-C again ends at once.");
      this.#stop("interrupted");
    });
    const validBefore = this.#countRows() - this.#invalid;
    const startedAtMs = performance.now();
    const results = issueCards(client, rows, {
      template,
      checkpoint: this.#checkpoint,
      description,
      concurrency,
      maxPerSecond,
      signal: this.#stopping.signal,
      total: total && total.valid - validBefore,
      // With the rows before this call, and those that were not sent.
      onProgress: (progress) =>
        this.#display.update({ ...progress, ...this.#counts, ...(total && { total: total.rows }) }),
    });
    try {
      for await (const result of results) this.#add(result);
    } finally {
      removeListener();
      this.#display.clear();
      this.#elapsedMs += performance.now() - startedAtMs;
    }
  }

  #add(result: BulkResult<ImportRow>): void {
    const { files } = this.#options;
    const { userId, record } = result.row;
    if (result.status === "issued") files.addCard(userId, result.card.id);
    else if (result.status === "replayed") files.addCard(userId, result.cardId);
    else {
      const { code, cardId } = result.error;
      if (cardId !== undefined) files.addCard(userId, cardId);
      // Rows with an unknown outcome are sent again by the next run, until the service has forgotten their keys.
      if (result.status === "rejected" || code === "idempotency-expired") {
        const reason = describeRejection(result.error);
        files.addRejected(record, { code, reason, key: result.idempotencyKey });
      }
    }
    this.#count(result.status);
  }

  #count(status: keyof Counts): void {
    this.#counts[status]++;
    const rows = this.#countRows();
    if (rows >= minRowsForShare && this.#counts.rejected > rows * (this.#options.abortOver ?? 1))
      this.#stop("too-many-rejected");
  }
}

/** The checkpoint file of both parts of a run. It stays locked between them, so that no other run writes the same files. */
class SharedCheckpoint implements Checkpoint {
  readonly #path: string;
  #session: CheckpointSession | undefined;
  /** Something was sent, or is known to be sent next. */
  hasRecords = false;

  constructor(path: string) {
    this.#path = path;
  }

  async open(header: Parameters<Checkpoint["open"]>[0]): Promise<CheckpointSession> {
    const { fileCheckpoint } = await import("@loyalty-cards/issuing-client/bulk");
    this.#session ??= await fileCheckpoint(this.#path).open(header);
    const session = this.#session;
    return {
      ...(session.issued !== undefined && { issued: session.issued }),
      find: (keyHash) => session.find(keyHash),
      append: (records) => {
        this.hasRecords = true;
        return session.append(records);
      },
      close: async () => {},
    };
  }

  async close(): Promise<void> {
    await this.#session?.close();
  }
}

/** Errors with an exit code. After rows were sent, the same command resumes. */
export function toCommandError(error: unknown, hasSent = false): unknown {
  if (error instanceof CommandError && hasSent) return new CommandError(error.text, exitCodes.stopped);
  const refused = describeSystemError(error);
  if (refused !== undefined && hasSent) {
    const advice = "Correct this, and run the same command again: no row gets a second card.";
    return new CommandError(`${refused} ${advice}`, exitCodes.stopped);
  }
  // By name, because the package can be installed twice.
  if (error instanceof Error && error.name === "CheckpointError") {
    const { text, link } = splitMessage(error);
    return new CommandError(link === undefined ? text : Text.lines([text, link]));
  }
  return error;
}

/** The first items. Unlike a loop, it does not close the generator. */
async function* take<Item>(items: AsyncGenerator<Item, void>, count: number): AsyncGenerator<Item, void> {
  for (let taken = 0; taken < count; taken++) {
    const next = await items.next();
    if (next.done) return;
    yield next.value;
  }
}

async function* prepend<Item>(first: Item, rest: AsyncGenerator<Item, void>): AsyncGenerator<Item, void> {
  yield first;
  yield* rest;
}
