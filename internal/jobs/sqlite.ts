/** Runs operations in a SQLite file, which is opened at first use. Nothing waits on a timer, so that fake timers of a test stop nothing. */
import { withSafeMessage } from "../reporting.ts";
import { type OpenSqliteDatabase, rollBack, type SqliteDatabase } from "../sqlite/database-node.ts";
import type { Operation, Row, Step, Value } from "./statement.ts";

/** The result of a function that must not be asynchronous: an async one does not compile, and the error shows this text. */
export type Synchronous<Result> =
  Result extends PromiseLike<unknown>
    ? "Remove async and await: the transaction ends when it returns"
    : Result;

/**
 * @param name the option or method that takes the user's function, for the message.
 * @throws {TypeError} when the function returned a promise, whose work would run outside of the transaction.
 */
export function requireSynchronous<Result>(name: string, result: Result | Synchronous<Result>): Result {
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== "function") return result as Result;
  Promise.resolve(result).catch(() => {}); // the caller has one error, which says what to change
  throw withSafeMessage(
    new TypeError(
      `${name} takes a synchronous function, because the transaction ends when it returns: remove async and await from it.`,
    ),
  );
}

/**
 * @param openFile opens the file with its tables.
 * @param now the time in milliseconds.
 * @param owner the name in the error of calls after `close`, such as `inbox`.
 * @param getLatest returns the latest time that the file shows, so that time goes on when the clock was set back before this process began.
 */
export function createSqliteDatabase(
  openFile: () => OpenSqliteDatabase,
  now: () => number,
  owner: string,
  getLatest: () => Operation<number>,
) {
  let opened: OpenSqliteDatabase | undefined;
  let isClosed = false;
  let latestMs = Number.NEGATIVE_INFINITY;
  let correctionMs = 0;
  /** Time goes on after the clock was set back, so that this neither delays jobs nor extends pauses and leases. */
  const getTimeMs = () => {
    const clockMs = now();
    correctionMs = Math.max(correctionMs, latestMs - clockMs);
    latestMs = clockMs + correctionMs;
    return latestMs;
  };

  function open(): OpenSqliteDatabase {
    if (isClosed) throw withSafeMessage(new Error(`The ${owner} is closed.`));
    if (opened === undefined) {
      opened = openFile();
      latestMs = Math.max(latestMs, runIn(opened, getLatest()));
    }
    return opened;
  }

  function runIn<Result>(connection: SqliteDatabase, operation: Operation<Result>): Result {
    let next = operation.next();
    while (!next.done) next = operation.next(execute(connection, next.value, getTimeMs()));
    return next.value;
  }

  return {
    /** The connection. @throws when the file cannot be used. */
    open: (): SqliteDatabase => open(),
    isOpen: () => opened !== undefined,
    /** Runs an operation on a given connection, in its transaction if it has one. */
    runIn,
    /** Runs an operation of which each statement is a transaction. */
    run: <Result>(operation: Operation<Result>): Result => runIn(open(), operation),
    /** Runs work in a transaction: commits when it returns, rolls back when it throws. */
    transact<Result>(work: (connection: SqliteDatabase) => Result): Result {
      const connection = open();
      connection.exec("BEGIN IMMEDIATE");
      try {
        const result = work(connection);
        connection.exec("COMMIT");
        return result;
      } catch (error) {
        rollBack(connection);
        throw error;
      }
    },
    close(): void {
      isClosed = true;
      opened?.close();
      opened = undefined;
    },
  };
}

export type SqliteJobsDatabase = ReturnType<typeof createSqliteDatabase>;

type RunStatement = (values: readonly Value[], nowMs: number) => Row[];

/** Prepared statements of each connection. */
const prepared = new WeakMap<SqliteDatabase, Map<string, RunStatement>>();
/** Statements for many rows differ by the number of rows. */
const maxPrepared = 200;

function execute(connection: SqliteDatabase, step: Step, nowMs: number): Row[] {
  if ("call" in step) {
    requireSynchronous(step.name, step.call(connection as never));
    return [];
  }
  let statements = prepared.get(connection);
  if (statements === undefined || statements.size >= maxPrepared) {
    statements = new Map();
    prepared.set(connection, statements);
  }
  const run = statements.get(step.sql) ?? prepare(connection, step.sql);
  statements.set(step.sql, run);
  return run(step.values, nowMs);
}

/** SQLite has no types of parameters, one `?` for each use of a value, and one writer, so that no rows of other transactions are skipped. */
function prepare(connection: SqliteDatabase, sql: string): RunStatement {
  /** For each `?` the index of its value; -1 is the time. */
  const order: number[] = [];
  const text = sql
    .replace(/\$(\d+)(?:::\w+)*|:now\b/g, (_whole, number: string | undefined) => {
      order.push(Number(number ?? 0) - 1);
      return "?";
    })
    .replace(/ FOR UPDATE[\w ]*/g, "");
  const statement = connection.prepare(text);
  const hasRows = /^\s*(SELECT|WITH)|\bRETURNING\b/.test(text);
  return (given, nowMs) => {
    const values = order.map((index) => (index < 0 ? nowMs : (given[index] ?? null)));
    if (hasRows) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  };
}
