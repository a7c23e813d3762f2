/** Group commit: joins the writes of one turn of the event loop into one transaction, and so into one fsync. */
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { isBusy, type SqliteDatabase } from "./database-node.ts";

export interface CommitOptions {
  /** Removes the work from the queue while it has not begun. */
  signal?: AbortSignal;
  /** Its error rolls back only itself. Work of a single statement does not need this. */
  isIsolated?: boolean;
}

export interface GroupCommit {
  /** Runs `work` in the next transaction. Resolves when that is on the disk; rejects when nothing of it is. */
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

/** Limits how long one transaction blocks the event loop. */
const maxPerTransaction = 200;
/** Waiting for another process's transaction: blocking for a moment, then with a timer. */
const blockingWaitMs = 50;
const retryDelayMs = 10;
const maxWaitMs = 5_000;

/** `onBegin` runs at the start of each transaction. */
export function createGroupCommit(database: SqliteDatabase, onBegin: () => void): GroupCommit {
  database.exec(`PRAGMA busy_timeout = ${blockingWaitMs}`);
  const beginTransaction = database.prepare("BEGIN IMMEDIATE");
  const commitTransaction = database.prepare("COMMIT");
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
      rollBack();
      for (const entry of entries) entry.reject(error);
      return "written";
    }
    for (const settle of settlements) settle();
    return "written";
  }

  /** @returns what settles the caller's promise after the commit. @throws when the whole transaction must be rolled back. */
  function run({ work, isIsolated, resolve, reject }: Entry): () => void {
    if (!isIsolated) {
      const value = work();
      return () => resolve(value);
    }
    database.exec("SAVEPOINT webhook_inbox");
    try {
      const value = work();
      database.exec("RELEASE webhook_inbox");
      return () => resolve(value);
    } catch (error) {
      database.exec("ROLLBACK TO webhook_inbox; RELEASE webhook_inbox");
      return () => reject(error);
    }
  }

  function rollBack(): void {
    try {
      database.exec("ROLLBACK");
    } catch {} // after some errors SQLite has rolled back already, and throws here
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
        if (isClosed) return reject(new Error("The inbox is closed."));
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
      for (const entry of queue.splice(0)) entry.reject(new Error("The inbox is closed."));
    },
  };
}

const lockTimeoutError = () => new Error(`Another process locked the database for ${maxWaitMs} ms.`);

/** @throws {TypeError} for a promise: its work would run outside of the transaction. */
export function requireSynchronous<Result>(result: Result): Result {
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== "function") return result;
  throw withSafeMessage(
    new TypeError("write takes a synchronous function: the transaction ends when it returns."),
  );
}
