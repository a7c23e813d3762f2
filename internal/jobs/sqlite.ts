/**
 * Runs statements in a SQLite file, which is opened at first use. Nothing waits on a timer, so that
 * fake timers of a test stop nothing.
 */
import { createReturnedFunctionError, createTypeError, withSafeMessage } from "../errors.ts";
import {
  busyTimeoutMs,
  type OpenSqliteDatabase,
  rollBack,
  type SqliteDatabase,
  type SqliteStatement,
  type UserSqliteDatabase,
} from "../sqlite/database-node.ts";
import { type SqliteWal, watchWal } from "../sqlite/wal-node.ts";
import { getValue, type Row, replaceParameters, type Statements, type Step } from "./statement.ts";

/**
 * The result of a function that must not be asynchronous: an async one does not compile, and the
 * error shows this text.
 */
export type Synchronous<Result> =
  Result extends PromiseLike<unknown>
    ? "Remove async and await: the transaction ends when it returns"
    : Result;

/**
 * @param name the option or method that takes the user's function, for the message.
 * @throws {TypeError} when the function returned a promise, whose work would run outside of the
 * transaction, or a function, such as that of `database.transaction` of better-sqlite3.
 */
export function requireSynchronous<Result>(
  name: string,
  result: Result | Synchronous<Result>,
): Result {
  if (typeof result === "function") throw createReturnedFunctionError(name);
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== "function")
    return result as Result;
  Promise.resolve(result).catch(() => {}); // the caller has one error, which says what to change
  throw createTypeError(
    `${name} takes a synchronous function, because the transaction ends when it returns: remove async and await from it, and call what returns a promise after it.`,
  );
}

interface SqliteJobsOptions {
  /** Opens the file with its tables. */
  openFile(): OpenSqliteDatabase;
  /**
   * Checks a connection of the user's own before statements join its transaction, and creates the
   * tables that are missing.
   */
  prepareOther?(connection: SqliteDatabase): void;
  /** The time in milliseconds. */
  now(): number;
  /** The name in the error of calls after `close`, such as `inbox`. */
  owner: string;
  /**
   * Returns the latest time that the file shows, so that time goes on when the clock was set back
   * before this process began.
   */
  getLatestMs(): Statements<number>;
}

/**
 * A file of jobs, which is opened at first use. When its write-ahead log was deleted or replaced,
 * each call throws: see {@link watchWal}.
 */
export interface SqliteJobsDatabase {
  /**
   * The connection.
   * @throws when the file cannot be used.
   */
  open(): SqliteDatabase;
  isOpen(): boolean;
  /** Runs statements, each of which is a transaction. */
  runEach<Result>(statements: Statements<Result>): Result;
  /** Runs statements in a transaction: commits at their end, rolls back when one throws. */
  transact<Result>(statements: Statements<Result>): Result;
  /**
   * Runs a function of the user in a transaction: commits when it returns, rolls back when it
   * throws.
   * @param name the method that takes the function, for the message.
   * @throws {TypeError} for an asynchronous function.
   */
  write<Result>(name: string, work: (connection: SqliteDatabase) => Synchronous<Result>): Result;
  /**
   * Runs statements in the user's transaction: that of `write`, or one on a connection of their
   * own.
   * @throws {TypeError} for a connection of another SQLite library.
   */
  join<Result>(database: UserSqliteDatabase, statements: Statements<Result>): Result;
  /**
   * Lets time go on after the latest that the file shows: another process may have written it
   * before the clock was set back.
   */
  followFile(): void;
  /**
   * Removes deleted data from the WAL, which has it until a checkpoint truncates it. Where another
   * connection reads, and on a full disk, it stays until the next call.
   */
  tidy(): void;
  /** Tidies, and closes the file. */
  close(): void;
}

export function createSqliteDatabase(options: SqliteJobsOptions): SqliteJobsDatabase {
  const { nowMs, startAt } = createForwardClock(options.now);
  let opened: OpenSqliteDatabase | undefined;
  let wal: SqliteWal | undefined;
  let isClosed = false;
  /** The connection while a transaction of this object runs. */
  let transacting: SqliteDatabase | undefined;
  const requireLibrary = createLibraryCheck(options.owner);

  function open(): OpenSqliteDatabase {
    if (isClosed) throw withSafeMessage(new Error(`The ${options.owner} is closed.`));
    wal?.requireOwn();
    if (opened !== undefined) return opened;
    opened = options.openFile();
    wal = watchWal(opened);
    try {
      requireLibrary(opened);
    } catch (error) {
      wal.abandon(error);
    }
    followFile();
    return opened;
  }

  function inTransaction<Result>(work: (connection: SqliteDatabase) => Result): Result {
    const connection = open();
    if (transacting !== undefined)
      throw createTypeError(
        `A method of the ${options.owner} was called inside of its transaction: use the database that your function gets, or call it after the function.`,
      );
    connection.exec("BEGIN IMMEDIATE");
    transacting = connection;
    let result: Result;
    let isComplete = false;
    try {
      result = work(connection);
      isComplete = true;
      connection.exec("COMMIT");
    } catch (error) {
      rollBack(connection);
      throw isComplete ? explainCommit(error) : error;
    } finally {
      transacting = undefined;
    }
    wal?.requireOwn();
    return result;
  }

  function followFile(): void {
    startAt(executeAll(open(), options.getLatestMs(), nowMs));
  }

  function tidy(): void {
    wal?.requireOwn();
    if (!wal?.getSizeBytes()) return;
    const connection = open();
    // Waiting for a connection that reads would stop the process.
    connection.exec("PRAGMA busy_timeout = 0");
    try {
      connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    } catch {
      // The disk may be full, which the next write reports. The file can be closed all the same.
    } finally {
      connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    }
  }

  return {
    open,
    isOpen: () => opened !== undefined,
    runEach(statements) {
      const result = executeAll(open(), statements, nowMs);
      wal?.requireOwn();
      return result;
    },
    transact: (statements) =>
      inTransaction((connection) => executeAll(connection, statements, nowMs)),
    write: (name, work) =>
      inTransaction((connection) => requireSynchronous(name, work(connection))),
    join(database, statements) {
      const connection = database as SqliteDatabase;
      if (connection === transacting) {
        if (!isInTransaction(connection)) throw createEndedError();
        return executeAll(connection, statements, nowMs);
      }
      options.prepareOther?.(connection);
      requireLibrary(connection);
      wal?.requireOwn();
      const result = executeAll(connection, statements, nowMs);
      wal?.requireOwn();
      return result;
    },
    followFile,
    tidy,
    close() {
      tidy();
      isClosed = true;
      opened?.close();
      opened = undefined;
      wal = undefined;
    },
  };
}

/**
 * Whether the connection is in a transaction. `libsql`, `better-sqlite3` and a new `node:sqlite`
 * have a member that says so; BEGIN fails inside of one in every binding.
 */
export function isInTransaction(database: SqliteDatabase): boolean {
  const members = database as { inTransaction?: unknown; isTransaction?: unknown };
  const known = members.inTransaction ?? members.isTransaction;
  if (typeof known === "boolean") return known;
  try {
    database.exec("BEGIN");
  } catch {
    return true;
  }
  database.exec("ROLLBACK");
  return false;
}

/** For a transaction that ended early: the next statements would be committed on their own. */
const createEndedError = (options?: ErrorOptions): Error =>
  withSafeMessage(
    new Error(
      "The transaction was ended inside of its function, with COMMIT or ROLLBACK, or by an error that was caught. Run neither in it, and catch no error of the database: to roll back, throw one.",
      options,
    ),
  );

/** Says so where there is nothing to commit: the message is SQLite's own. */
function explainCommit(cause: unknown): unknown {
  const isEnded = /no transaction is active/.test(String((cause as Error | undefined)?.message));
  return isEnded ? createEndedError({ cause }) : cause;
}

/**
 * Two SQLite libraries in one process drop each other's locks on a file.
 * @returns a function that throws {TypeError} when a connection is of another library than the
 * first one.
 */
function createLibraryCheck(owner: string): (connection: SqliteDatabase) => void {
  let library: unknown;
  return (connection) => {
    const row = connection.prepare("SELECT sqlite_source_id() AS id").get();
    const { id } = row as { id: unknown };
    library ??= id;
    if (id === library) return;
    throw createTypeError(
      `This connection and that of the ${owner} are of two SQLite libraries, which drop each other's locks. Pass { open: (file) => new Database(file) } of your own library to the ${owner}, or use the connection of ${owner}.write. See https://loyalty-cards.github.io/loyalty-cards/guides/outbox#sqlite-locks.`,
    );
  };
}

/**
 * A clock whose time goes on after that of the machine was set back, so that this neither delays
 * jobs nor extends pauses and leases.
 */
function createForwardClock(now: () => number) {
  let latestMs = Number.NEGATIVE_INFINITY;
  let correctionMs = 0;
  return {
    nowMs(): number {
      const clockMs = now();
      correctionMs = Math.max(correctionMs, latestMs - clockMs);
      latestMs = clockMs + correctionMs;
      return latestMs;
    },
    /** Ensures that the clock does not return an earlier time. */
    startAt(ms: number): void {
      latestMs = Math.max(latestMs, ms);
    },
  };
}

/** Runs statements on a connection, in its transaction if it has one. */
export function executeAll<Result>(
  connection: SqliteDatabase,
  statements: Statements<Result>,
  nowMs: () => number,
): Result {
  let next = statements.next();
  while (!next.done) next = statements.next(execute(connection, next.value, nowMs()));
  return next.value;
}

/** A statement that was prepared, and the name of the value of each `?` in it. */
interface Prepared {
  statement: SqliteStatement;
  names: readonly string[];
}

/** Prepared statements of each connection. */
const prepared = new WeakMap<SqliteDatabase, Map<string, Prepared>>();
/** Statements for many rows differ by the number of rows. */
const maxPrepared = 200;

function execute(connection: SqliteDatabase, step: Step, nowMs: number): Row[] {
  if ("call" in step) {
    requireSynchronous(step.name, step.call(connection as never));
    if (!isInTransaction(connection)) throw createEndedError();
    return [];
  }
  let statements = prepared.get(connection);
  if (statements === undefined || statements.size >= maxPrepared) {
    statements = new Map();
    prepared.set(connection, statements);
  }
  const known = statements.get(step.sql) ?? prepare(connection, step.sql);
  statements.set(step.sql, known);
  const values = known.names.map((name) => (name === "now" ? nowMs : getValue(step.values, name)));
  if (step.hasRows) return known.statement.all(...values) as Row[];
  known.statement.run(...values);
  return [];
}

/** Removes the types of parameters, and writes `?` for each use of a value, as SQLite needs. */
function prepare(connection: SqliteDatabase, sql: string): Prepared {
  const names: string[] = [];
  const text = replaceParameters(sql, (name) => {
    if (name === "inTransaction") return "TRUE"; // a connection has one at most
    names.push(name);
    return "?";
  });
  return { statement: connection.prepare(text), names };
}
