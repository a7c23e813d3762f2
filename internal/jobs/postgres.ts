/** Runs operations in PostgreSQL: in a transaction of the user, or in one of our own, which is repeated after a serialization failure or a deadlock. */
import {
  hasCode,
  type PostgresClient,
  type PostgresTransaction,
  queryRows,
} from "../postgres/transaction.ts";
import { withSafeMessage } from "../reporting.ts";
import type { Operation, Row, Step } from "./statement.ts";

/** Runs work in a transaction: commits when it resolves, rolls back when it rejects. */
export type Transact<Transaction> = <Result>(
  work: (transaction: Transaction) => Promise<Result>,
) => Promise<Result>;

/** 40001 serialization_failure, 40P01 deadlock_detected: PostgreSQL rolled back, and says that the transaction may be repeated. */
export const isConflict = (error: unknown): boolean => hasCode(error, "40001", "40P01");
const maxAttempts = 5;
/** Two transactions that were in each other's way would be again: they wait for a random time, doubled each time. Fake timers of a test do not stop the repetition. */
const firstWaitMs = 20;
const setRealTimeout = setTimeout;
const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export interface PostgresJobsOptions {
  /** Executes a single statement. Default: in a transaction. */
  pool?: PostgresClient | undefined;
  /** The time in milliseconds, for tests. Default: the time of the database. */
  now?: (() => number) | undefined;
  /** The message of the error when the tables do not exist. */
  missingTables: string;
  /** Checks the tables, before the first other operation. */
  check(): Operation<void>;
}

export function createPostgresDatabase<Transaction extends PostgresTransaction>(
  transact: Transact<Transaction>,
  { pool, now, missingTables, check }: PostgresJobsOptions,
) {
  /** Whether the tables were checked. */
  let isOpen = false;

  async function execute(client: PostgresClient, step: Step): Promise<Row[]> {
    if ("call" in step) {
      await step.call(client as never);
      // Not every client says that its COMMIT was a ROLLBACK, because the callback caught the error of a statement.
      await queryRows(client, "SELECT 1", []);
      return [];
    }
    const sql = step.sql.replaceAll(":now", now === undefined ? databaseTime : `${now()}::bigint`);
    const values = step.values.map((value) => (value === null ? null : String(value)));
    try {
      return Array.from(await queryRows(client, sql, values)) as Row[];
    } catch (error) {
      if (!hasCode(error, "42P01")) throw error;
      throw withSafeMessage(new Error(missingTables, { cause: error }));
    }
  }

  async function executeAll<Result>(client: PostgresClient, operation: Operation<Result>): Promise<Result> {
    let next = operation.next();
    while (!next.done) next = operation.next(await execute(client, next.value));
    return next.value;
  }

  async function repeat<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === maxAttempts || !isConflict(error)) throw error;
        await new Promise((resolve) => setRealTimeout(resolve, Math.random() * firstWaitMs * 2 ** attempt));
      }
    }
  }

  const runAlone = <Result>(start: () => Operation<Result>): Promise<Result> =>
    repeat(() => transact((transaction) => executeAll(transaction, start())));

  async function open(): Promise<void> {
    if (!isOpen) await runAlone(check);
    isOpen = true;
  }

  return {
    /** Runs an operation in a transaction of the user. The tables are checked in it too, because it may use the only connection of a pool. */
    async runIn<Result>(transaction: PostgresTransaction, operation: Operation<Result>): Promise<Result> {
      if (!isOpen) await executeAll(transaction, check());
      return executeAll(transaction, operation);
    },
    /** Runs an operation: with a pool, each statement is a transaction. @param start creates it, once for each attempt. */
    async run<Result>(start: () => Operation<Result>): Promise<Result> {
      await open();
      return pool === undefined ? runAlone(start) : repeat(() => executeAll(pool, start()));
    },
    /** Runs an operation in a transaction of its own. @param start creates it, once for each attempt. */
    async transact<Result>(start: () => Operation<Result>): Promise<Result> {
      await open();
      return runAlone(start);
    },
  };
}
