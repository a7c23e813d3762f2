/** Group commit: joins the writes of one turn of the event loop into one transaction, and so into one fsync. */
import { withSafeMessage } from "../reporting.ts";
import { isBusy, rollBack, type SqliteDatabase } from "./database-node.ts";

export interface CommitOptions {
  /** When it is aborted, work that has not begun is removed from the queue. */
  signal?: AbortSignal;
  /** An error of this work rolls back only this work. Work of a single statement does not need this. */
  isIsolated?: boolean;
}

export interface GroupCommit {
  /** Runs `work` in the next transaction. Resolves when the transaction is on the disk; rejects when nothing was written. */
  commit<Result>(work: () => Result, options?: CommitOptions): Promise<Result>;
  /** Writes the queued work now, and rejects later calls. */
  close(): void;
}

interface Entry {
  work: () => unknown;
  signal: AbortSignal | undefined;
  isIsolated: boolean;
  expiresAtMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The work of one entry has rolled back the transaction of all entries, as INSERT OR ROLLBACK does. */
class TransactionEnded extends Error {
  readonly entry: Entry;

  constructor(entry: Entry, cause: unknown) {
    super("Other work in the same transaction has rolled it back, as INSERT OR ROLLBACK does.", { cause });
    this.entry = entry;
  }
}

/** Limits how long one transaction blocks the event loop. */
const maxPerTransaction = 200;
/** How long to wait for another process's transaction: first blocking, then with a timer. */
const blockingWaitMs = 50;
const retryDelayMs = 10;
const maxWaitMs = 5_000;

/** @param owner the name in the error of calls after `close`, such as `inbox`. @param onBegin runs at the start of each transaction. */
export function createGroupCommit(owner: string, database: SqliteDatabase, onBegin: () => void): GroupCommit {
  database.exec(`PRAGMA busy_timeout = ${blockingWaitMs}`);
  const beginTransaction = database.prepare("BEGIN IMMEDIATE");
  const commitTransaction = database.prepare("COMMIT");
  const closedError = () => withSafeMessage(new Error(`The ${owner} is closed.`));
  const queue: Entry[] = [];
  let isScheduled = false;
  let isClosed = false;

  function schedule(isLocked: boolean): void {
    if (isScheduled || queue.length === 0) return;
    isScheduled = true;
    const turn = () => {
      isScheduled = false;
      if (!isClosed) schedule(write() === "locked");
    };
    if (isLocked) setTimeout(turn, retryDelayMs);
    else setImmediate(turn);
  }

  function write(): "written" | "locked" {
    rejectWhere(
      ({ signal }) => signal?.aborted === true,
      ({ signal }) => signal?.reason,
    );
    try {
      beginTransaction.run();
    } catch (error) {
      if (isBusy(error)) {
        const nowMs = performance.now();
        rejectWhere(({ expiresAtMs }) => nowMs > expiresAtMs, lockTimeoutError);
        return "locked";
      }
      for (const entry of queue.splice(0)) entry.reject(error);
      return "written";
    }
    const entries = queue.splice(0, maxPerTransaction);
    const settlements: (() => void)[] = [];
    try {
      onBegin();
      for (const entry of entries) settlements.push(run(entry));
      commitTransaction.run();
    } catch (error) {
      rollBack(database);
      const ended = error instanceof TransactionEnded ? error : undefined;
      for (const entry of entries) entry.reject(entry === ended?.entry ? ended.cause : error);
      return "written";
    }
    for (const settle of settlements) settle();
    return "written";
  }

  /** @returns a function that settles the caller's promise; it is called after the commit. @throws when the whole transaction must be rolled back. */
  function run(entry: Entry): () => void {
    const { work, isIsolated, resolve, reject } = entry;
    if (!isIsolated) {
      const value = work();
      return () => resolve(value);
    }
    database.exec("SAVEPOINT group_commit");
    try {
      const value = work();
      database.exec("RELEASE group_commit");
      return () => resolve(value);
    } catch (error) {
      try {
        database.exec("ROLLBACK TO group_commit; RELEASE group_commit");
      } catch {
        throw new TransactionEnded(entry, error);
      }
      return () => reject(error);
    }
  }

  function rejectWhere(isRejected: (entry: Entry) => boolean, reason: (entry: Entry) => unknown): void {
    for (const entry of queue.splice(0)) {
      if (isRejected(entry)) entry.reject(reason(entry));
      else queue.push(entry);
    }
  }

  return {
    commit<Result>(work: () => Result, { signal, isIsolated = false }: CommitOptions = {}) {
      return new Promise<Result>((resolve, reject) => {
        if (isClosed) return reject(closedError());
        const expiresAtMs = performance.now() + maxWaitMs;
        queue.push({
          work,
          signal,
          isIsolated,
          expiresAtMs,
          resolve: resolve as (value: unknown) => void,
          reject,
        });
        schedule(false);
      });
    },
    close() {
      isClosed = true;
      while (queue.length > 0 && write() === "written");
      for (const entry of queue.splice(0)) entry.reject(closedError());
    },
  };
}

const lockTimeoutError = () => new Error(`Another process locked the database for ${maxWaitMs} ms.`);

/**
 * @param name the option or method that takes the user's function, for the message.
 * @throws {TypeError} when the function returned a promise: its work would run outside of the transaction.
 */
export function requireSynchronous<Result>(name: string, result: Result): Result {
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== "function") return result;
  throw withSafeMessage(
    new TypeError(`${name} takes a synchronous function: the transaction ends when it returns.`),
  );
}
