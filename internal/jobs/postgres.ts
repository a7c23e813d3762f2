/** Runs operations in PostgreSQL: in a transaction of the user, or in one of our own, which is repeated after a serialization failure or a deadlock. */
import { type PostgresTransaction, queryRows } from "../postgres/transaction.ts";
import { type Operation, type Row, runAsync, type Step, toPostgres } from "./statement.ts";

/** Runs work in a transaction: commits when it resolves, rolls back when it rejects. */
export type Transact<Transaction> = <Result>(
  work: (transaction: Transaction) => Promise<Result>,
) => Promise<Result>;

/** 40001 serialization_failure, 40P01 deadlock_detected: PostgreSQL rolled back, and says that the transaction may be repeated. */
const repeatable: readonly unknown[] = ["40001", "40P01"];
const maxAttempts = 5;

export interface PostgresJobsDatabase {
  /** Runs an operation in a transaction of the user. */
  runIn<Result>(transaction: PostgresTransaction, operation: Operation<Result>): Promise<Result>;
  /** Runs an operation in a transaction of its own. @param start creates the operation, once for each attempt. */
  transact<Result>(start: () => Operation<Result>): Promise<Result>;
}

/** @param now the time in milliseconds, for tests; default: the time of the database. */
export function createPostgresDatabase<Transaction extends PostgresTransaction>(
  transact: Transact<Transaction>,
  now?: () => number,
): PostgresJobsDatabase {
  const runIn = <Result>(transaction: PostgresTransaction, operation: Operation<Result>) =>
    runAsync(operation, (step) => execute(transaction, step, now?.()));
  return {
    runIn,
    async transact(start) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await transact((transaction) => runIn(transaction, start()));
        } catch (error) {
          if (attempt === maxAttempts || !isRepeatable(error)) throw error;
        }
      }
    },
  };
}

/** The code is that of the driver's error, or of its cause: Drizzle and Prisma wrap it. */
function isRepeatable(error: unknown): boolean {
  const { code, cause, meta } = (error ?? {}) as {
    code?: unknown;
    cause?: unknown;
    meta?: { code?: unknown };
  };
  return (
    repeatable.includes(code) ||
    repeatable.includes(meta?.code) ||
    (cause !== undefined && isRepeatable(cause))
  );
}

async function execute(
  transaction: PostgresTransaction,
  step: Step,
  nowMs: number | undefined,
): Promise<Row[]> {
  if ("call" in step) {
    await step.call(transaction as never);
    return [];
  }
  const { sql, values } = toPostgres(step, nowMs);
  return Array.from(await queryRows(transaction, sql, values)) as Row[];
}
