/** The interface between the outbox and its database, SQLite or PostgreSQL. */
import type { Operation } from "./statement.ts";

/** Runs operations. Each promise resolves after the commit. */
export interface OutboxDatabase {
  /** Runs statements that only read. */
  read<Result>(operation: Operation<Result>): Promise<Result>;
  /**
   * Runs an operation in a transaction: all of it or nothing.
   * @param isIsolated the operation can fail alone, because it calls the user's callback or rejects its input.
   * @throws {CallbackError} when the user's callback threw.
   */
  write<Result>(operation: Operation<Result>, isIsolated?: boolean): Promise<Result>;
  /** Removes deleted data from the files. Called when nothing is due. */
  tidy(): void;
  close(): Promise<void>;
}

/** The user's callback threw or rejected, and its transaction was rolled back. */
export class CallbackError extends Error {
  constructor(cause: unknown) {
    super("The callback failed.", { cause });
  }
}
