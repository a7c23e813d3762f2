/**
 * Runs statements in PostgreSQL: in a transaction of the user, or in one of our own, which is
 * repeated after a serialization failure, a deadlock or a failover.
 */

import { createReturnedFunctionError, createTypeError, withSafeMessage } from "../errors.ts";
import {
  enterTransaction,
  hasCode,
  type PostgresClient,
  type PostgresTransaction,
  queryRows,
  type TransactionNeed,
  type UserTransaction,
} from "../postgres/client.ts";
import { isServerLost } from "../postgres/commit.ts";
import { setRealTimeout } from "../timers.ts";
import {
  getValue,
  type Row,
  replaceParameters,
  type Statement,
  type Statements,
  type Step,
  type Values,
} from "./statement.ts";

/** Runs work in a transaction: commits when it resolves, rolls back when it rejects. */
export type WithTransaction<Transaction> = <Result>(
  work: (transaction: Transaction) => Promise<Result>,
) => Promise<Result>;

/**
 * 40001 serialization_failure, 40P01 deadlock_detected: PostgreSQL rolled back, and says that the
 * transaction may be repeated.
 */
export const isTransactionConflict = (error: unknown): boolean => hasCode(error, "40001", "40P01");
const maxAttempts = 5;
/**
 * Transactions that conflicted would conflict again if repeated at once, so each one waits for a
 * random time, whose limit doubles each time.
 */
const firstWaitMs = 40;
const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** What the messages of errors say, in the words of the package. */
interface PostgresMessages extends TransactionNeed {
  missingTables: string;
  /** The option `transaction` did not wait for its work. */
  notAwaited: string;
  /** The function of `write` did not wait for what it ran in the transaction. */
  stillRan: string;
  /** The database has an encoding without some characters. */
  untranslatable: string;
}

interface PostgresJobsOptions<Transaction> {
  /** Executes a single statement. Default: in a transaction. */
  pool?: PostgresClient | undefined;
  /** Returns what sends the statements of a transaction. Default: the transaction itself. */
  adapt?: ((transaction: Transaction) => PostgresTransaction) | undefined;
  /** The time in milliseconds, for tests. Default: the time of the database. */
  now?: (() => number) | undefined;
  messages: PostgresMessages;
  /** Checks the tables before the first other statements. */
  check(): Statements<void>;
}

/** What sends the statements. */
interface Connection {
  client: PostgresClient;
  /** The transaction that the user's functions get. */
  transaction?: unknown;
  /** The user's own transaction, in which the statements must be. */
  userTransaction?: UserTransaction;
}

/** Statements of the engine in PostgreSQL. */
export function createPostgresDatabase<Transaction>(
  withTransaction: WithTransaction<Transaction>,
  options: PostgresJobsOptions<Transaction>,
) {
  const { pool, adapt = (transaction) => transaction as PostgresTransaction, messages } = options;
  let isChecked = false;
  let check: Promise<void> | undefined;
  /** The statements that run in the transactions of `write`. */
  const runningByTransaction = new Map<Transaction, Set<Promise<unknown>>>();

  async function executeAll<Result>(
    connection: Connection,
    statements: Statements<Result>,
  ): Promise<Result> {
    let next = statements.next();
    while (!next.done) next = statements.next(await execute(connection, next.value, options));
    return next.value;
  }

  /**
   * Keeps the result, because the option `transaction` of a user may not return it, and may return
   * before the work has ended.
   */
  async function inTransaction<Result>(
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    let ended = undefined as { result: Result } | undefined;
    await withTransaction(async (transaction) => {
      const result = await work(transaction);
      ended = { result };
      return result;
    });
    if (ended !== undefined) return ended.result;
    throw createTypeError(messages.notAwaited);
  }

  /**
   * Repeats a transaction after a conflict. After the server was lost, it does so only if COMMIT
   * was not sent.
   */
  function inRepeatedTransaction<Result>(create: () => Statements<Result>): Promise<Result> {
    let isCommitting = false;
    const work = async (transaction: Transaction) => {
      isCommitting = false;
      const client = adapt(transaction);
      const result = await executeAll({ client, transaction }, create());
      isCommitting = true;
      return result;
    };
    return repeat(
      () => inTransaction(work),
      (error) => isTransactionConflict(error) || (!isCommitting && isServerLost(error)),
    );
  }

  /** Shares one check among all calls that wait for it, because several checks could conflict. */
  async function checkOnce(): Promise<void> {
    check ??= inRepeatedTransaction(options.check).catch((error) => {
      check = undefined;
      throw error;
    });
    await check;
    isChecked = true;
  }

  async function executeInside<Result>(
    transaction: Transaction,
    statements: Statements<Result>,
  ): Promise<Result> {
    const client = adapt(transaction);
    const userTransaction = await enterTransaction(client, messages);
    const connection = { client, transaction, userTransaction };
    // This check is not remembered, because the user may roll back.
    if (!isChecked) await executeAll(connection, options.check());
    return executeAll(connection, statements);
  }

  return {
    /**
     * Runs statements in a transaction of the user. The tables are checked in it too, because it
     * may use the only connection of a pool.
     * @throws {TypeError} when it is no transaction.
     */
    join<Result>(transaction: Transaction, statements: Statements<Result>): Promise<Result> {
      const running = runningByTransaction.get(transaction);
      // The caller's promise itself: when nobody awaits it, its rejection is unhandled.
      const result: Promise<Result> = executeInside(transaction, statements).finally(() =>
        running?.delete(result),
      );
      running?.add(result);
      return result;
    },
    /**
     * Runs statements, each of which is a transaction if there is a pool.
     * @param create creates them, once for each attempt.
     */
    async runEach<Result>(create: () => Statements<Result>): Promise<Result> {
      await checkOnce();
      if (pool === undefined) return inRepeatedTransaction(create);
      return repeat(
        () => executeAll({ client: pool }, create()),
        (error) => isTransactionConflict(error) || isServerLost(error),
      );
    },
    /**
     * Runs statements in a transaction of its own.
     * @param create creates them, once for each attempt.
     */
    async transact<Result>(create: () => Statements<Result>): Promise<Result> {
      await checkOnce();
      return inRepeatedTransaction(create);
    },
    /**
     * Runs work of the user in a transaction, once. The tables are checked before: their first row,
     * written in the transactions of several users, would be a serialization failure.
     * @throws {TypeError} for work that does not wait for what it runs in the transaction.
     */
    async write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
      await checkOnce();
      return inTransaction(async (transaction) => {
        const running = new Set<Promise<unknown>>();
        runningByTransaction.set(transaction, running);
        try {
          const result = await work(transaction);
          if (running.size === 0) {
            if (pool === undefined) await requireUnfailed(adapt(transaction));
            return result;
          }
        } finally {
          runningByTransaction.delete(transaction);
          await Promise.allSettled(running); // nothing runs after ROLLBACK, or rejects unhandled
        }
        throw createTypeError(messages.stillRan);
      });
    },
  };
}

/**
 * @throws when the user's function caught the error of a statement: COMMIT would be a ROLLBACK, and
 * not every client says so.
 */
async function requireUnfailed(client: PostgresClient): Promise<void> {
  await queryRows(client, "SELECT 1", []);
}

async function repeat<Result>(
  work: () => Promise<Result>,
  isRepeatable: (error: unknown) => boolean,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === maxAttempts || !isRepeatable(error)) throw error;
      const waitMs = Math.random() * firstWaitMs * 2 ** (attempt - 1);
      await new Promise((resolve) => setRealTimeout(resolve, waitMs));
    }
  }
}

const undefinedTable = "42P01";
const untranslatableCharacter = "22P05";

async function execute(
  { client, transaction, userTransaction }: Connection,
  step: Step,
  { now, messages }: Pick<PostgresJobsOptions<never>, "now" | "messages">,
): Promise<Row[]> {
  if ("call" in step) {
    const result = await step.call(transaction as never);
    if (typeof result === "function") throw createReturnedFunctionError(step.name);
    await requireUnfailed(client);
    return [];
  }
  const { sql, values } = toPositional(step, {
    time: now === undefined ? databaseTime : `${now()}::bigint`,
    transactionId: userTransaction?.id,
  });
  try {
    const rows = await queryRows(client, sql, values);
    if (rows.length === 0 && step.sql.includes(":inTransaction"))
      await userTransaction?.requireSame();
    return rows as Row[];
  } catch (error) {
    if (hasCode(error, undefinedTable))
      throw withSafeMessage(new Error(messages.missingTables, { cause: error }));
    if (hasCode(error, untranslatableCharacter))
      throw createTypeError(messages.untranslatable, { cause: error });
    throw error;
  }
}

/**
 * Replaces the names of parameters by numbers. Each parameter has its type, because clients differ
 * in what they send: all of them send text.
 * @param transactionId of the user's transaction.
 */
function toPositional(
  step: Statement,
  { time, transactionId }: { time: string; transactionId: string | undefined },
): { sql: string; values: (string | null)[] } {
  const given: Values = { ...step.values, inTransaction: transactionId ?? null };
  const names: string[] = [];
  const place = (name: string): string => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}::text`;
  };
  const sql = replaceParameters(step.sql, (name, type) => {
    if (name === "now") return time;
    if (name === "inTransaction")
      return transactionId === undefined ? "TRUE" : `txid_current()::text = ${place(name)}`;
    return type === "text" ? place(name) : `${place(name)}::${type}`;
  });
  const values = names.map((name) => {
    const value = getValue(given, name);
    return value === null ? null : String(value);
  });
  return { sql, values };
}
