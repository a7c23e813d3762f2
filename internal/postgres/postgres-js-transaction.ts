/**
 * Runs work in a transaction of postgres.js: commits all of it or nothing, and survives a
 * connection that is cut.
 */
import { setRealTimeout } from "../timers.ts";
import type { PostgresJsClient } from "./client.ts";
import { createUnknownCommit, requireCommitted } from "./commit.ts";

/** The part of the `sql` of `postgres` 3 that is used. */
export interface PostgresJs<Transaction> {
  begin(work: (transaction: Transaction) => Promise<unknown>): Promise<unknown>;
  begin(options: string, work: (transaction: Transaction) => Promise<unknown>): Promise<unknown>;
}

const hasEnded = "The transaction has ended, so this query was not sent";

/** How far a transaction of postgres.js came. */
interface Progress<Result> {
  phase: "working" | "committing" | "committed";
  /** What `work` returned. */
  result?: Result;
  /** What `work` or COMMIT threw. */
  failure?: { error: unknown };
}

/**
 * Runs work in a transaction of postgres.js. With `sql.begin` of postgres 3.4, a connection that is
 * cut inside of it ends the process, blocks its place in the pool for good, or lets the rest of
 * `work` run on the next use of the connection, outside of any transaction. Here the call rejects
 * at once, and queries of a transaction that has ended throw.
 * @throws what `work` threw; an error that says so when COMMIT got no response, or was a rollback.
 */
export async function withPostgresJsTransaction<Transaction extends PostgresJsClient, Result>(
  sql: PostgresJs<Transaction>,
  work: (transaction: Transaction) => PromiseLike<Result> | Result,
): Promise<Result> {
  const gate = createGate();
  const progress: Progress<Result> = { phase: "working" };
  try {
    await sql.begin(async (transaction) => {
      try {
        progress.result = await work(guard(transaction, gate.requireOpen));
        await gate.whenWritable();
        progress.phase = "committing";
        await commit(transaction);
        progress.phase = "committed";
      } catch (error) {
        progress.failure = { error };
        await gate.whenWritable();
        throw error; // so that postgres.js sends ROLLBACK
      }
    });
  } catch (error) {
    gate.close(new Error(`${hasEnded}.`, { cause: error }));
    if (progress.phase !== "committed") throw explainFailure(progress, error);
  } finally {
    gate.close(new Error(`${hasEnded}: await every query inside of it.`));
  }
  return progress.result as Result;
}

/**
 * The COMMIT of postgres.js is a prepared statement: where a pooler loses it, PostgreSQL rolls
 * back, and postgres.js reports a success. This COMMIT is not prepared, and its response says what
 * happened. AND CHAIN begins a transaction without statements, which postgres.js then commits.
 */
async function commit(transaction: PostgresJsClient): Promise<void> {
  const response = await transaction.unsafe("COMMIT AND CHAIN", []);
  requireCommitted((response as { command?: string }).command);
}

/** @param error that of `sql.begin`. */
function explainFailure({ phase, failure }: Progress<unknown>, error: unknown): unknown {
  if (phase === "committing" && isConnectionError(error)) return createUnknownCommit(error);
  return failure === undefined ? error : failure.error;
}

/**
 * Errors of the socket, and those of postgres.js about it, have an `errno`; errors of PostgreSQL
 * have none.
 */
const isConnectionError = (error: unknown) =>
  typeof error === "object" && error !== null && "errno" in error;

/** Creates a gate, which is open until the transaction of postgres.js has ended. */
function createGate() {
  let closedBy: Error | undefined;
  return {
    /** Only the first reason counts. */
    close(reason: Error): void {
      closedBy ??= reason;
    },
    /** @throws the reason when it is closed. */
    requireOpen(): void {
      if (closedBy !== undefined) throw closedBy;
    },
    /**
     * Waits until postgres.js can write; for ever when the gate is closed. A write of postgres.js
     * to a closed socket ends the process, so COMMIT and ROLLBACK must not be sent on a lost
     * connection. It waits in a timer, because Node.js reports a closed socket before it runs
     * timers, and reports no other one before the caller has written.
     */
    whenWritable: () =>
      new Promise<void>((resolve) => {
        setRealTimeout(() => {
          if (closedBy === undefined) resolve();
        }, 0);
      }),
  };
}

/** Wraps a function or object, so that each call runs `check` first, in savepoints too. */
function guard<Target extends object>(target: Target, check: () => void): Target {
  return new Proxy(target, {
    apply(call, self, values) {
      check();
      const passed = values.map((value) =>
        typeof value === "function" ? (inner: object) => value(guard(inner, check)) : value,
      );
      return Reflect.apply(call as () => unknown, self, passed);
    },
    get(owner, name) {
      const value = Reflect.get(owner, name);
      return typeof value === "function" ? guard(value, check) : value;
    },
  });
}
