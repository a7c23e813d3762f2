/** Joins everything that is to be written in one turn of the event loop into one transaction, and so into one fsync. */
import { isBusy, type SqliteDatabase } from "./database.ts";

export interface CommitOptions {
  /** Gives up while the work has not begun. */
  signal?: AbortSignal;
  /** Its failure undoes only itself. Work that is a single statement needs none of that. */
  isIsolated?: boolean;
}

export interface GroupCommit {
  /** Runs `work` in the next transaction. Resolves when it is on the disk; rejects when nothing of it is. */
  commit<Result>(work: () => Result, options?: CommitOptions): Promise<Result>;
  /** Writes what waits, now, and takes nothing more. */
  close(): void;
}

interface Entry {
  work: () => unknown;
  signal: AbortSignal | undefined;
  isIsolated: boolean;
  giveUpAtMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Bounds how long one transaction keeps the event loop. */
const mostPerTransaction = 200;
/** How another process's transaction is waited for: blocking for a moment, then from time to time. */
const blockingWaitMs = 50;
const pauseMs = 10;
const longestWaitMs = 5_000;

/** `onBegin` runs at the start of each transaction. */
export function groupCommit(database: SqliteDatabase, onBegin: () => void): GroupCommit {
  database.exec(`PRAGMA busy_timeout = ${blockingWaitMs}`);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commitAll = database.prepare("COMMIT");
  const waiting: Entry[] = [];
  let isScheduled = false;
  let isClosed = false;

  function schedule(isLocked: boolean): void {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    const turn = () => {
      isScheduled = false;
      if (!isClosed) schedule(write() === "locked");
    };
    if (isLocked) setTimeout(turn, pauseMs);
    else setImmediate(turn);
  }

  function write(): "written" | "locked" {
    dropWhere(
      ({ signal }) => signal?.aborted === true,
      ({ signal }) => signal?.reason,
    );
    try {
      begin.run();
    } catch (error) {
      if (isBusy(error)) {
        const nowMs = performance.now();
        dropWhere(({ giveUpAtMs }) => nowMs > giveUpAtMs, lockedTooLong);
        return "locked";
      }
      for (const entry of waiting.splice(0)) entry.reject(error);
      return "written";
    }
    const entries = waiting.splice(0, mostPerTransaction);
    const settlements: (() => void)[] = [];
    try {
      onBegin();
      for (const entry of entries) settlements.push(carriedOut(entry));
      commitAll.run();
    } catch (error) {
      undo("ROLLBACK");
      for (const entry of entries) entry.reject(error);
      return "written";
    }
    for (const settle of settlements) settle();
    return "written";
  }

  /** What to tell its caller once the transaction stands. @throws when the whole transaction cannot. */
  function carriedOut({ work, isIsolated, resolve, reject }: Entry): () => void {
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

  /** After some errors SQLite has rolled back by itself, and says so by refusing to. */
  function undo(sql: string): void {
    try {
      database.exec(sql);
    } catch {}
  }

  function dropWhere(isDropped: (entry: Entry) => boolean, reason: (entry: Entry) => unknown): void {
    for (const entry of waiting.splice(0)) {
      if (isDropped(entry)) entry.reject(reason(entry));
      else waiting.push(entry);
    }
  }

  return {
    commit<Result>(work: () => Result, { signal, isIsolated = false }: CommitOptions = {}) {
      return new Promise<Result>((resolve, reject) => {
        if (isClosed) return reject(new Error("The inbox is closed."));
        const giveUpAtMs = performance.now() + longestWaitMs;
        const settle = resolve as (value: unknown) => void;
        waiting.push({ work, signal, isIsolated, giveUpAtMs, resolve: settle, reject });
        schedule(false);
      });
    },
    close() {
      isClosed = true;
      while (waiting.length > 0 && write() === "written");
      for (const entry of waiting.splice(0)) entry.reject(new Error("The inbox is closed."));
    },
  };
}

const lockedTooLong = () => new Error(`Another process kept the database locked for ${longestWaitMs} ms.`);

/** @throws {TypeError} for work that goes on after its transaction. */
export function synchronous<Result>(result: Result): Result {
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== "function") return result;
  throw new TypeError("write takes a synchronous function: the transaction ends when it returns.");
}
