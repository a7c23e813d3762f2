/** `sqliteOutbox`: an outbox in a SQLite file, for the processes of one machine. */

import {
  createSqliteDatabase,
  requireSynchronous,
  type Synchronous,
} from "@loyalty-cards/internal/jobs/sqlite";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import {
  busyTimeoutMs,
  isBusy,
  isInTransaction,
  isSameFile,
  type OpenSqlite,
  openDurableFile,
  openSqlite,
  type SqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import type { IssueCardRequest, UserId } from "@loyalty-cards/issuing-client";
import type { OutboxDatabase } from "./attempt.ts";
import type { CorrectionResult } from "./changes.ts";
import { createOutbox } from "./create-outbox.ts";
import { invalid, type OutboxState, type OwedCard } from "./entry.ts";
import { type Outbox, type OutboxOptions, parseOutboxOptions, type TemplateOption } from "./outbox.ts";
import { checkSettings, createOutboxJobs, settingsTables, sqliteTables } from "./tables.ts";

export interface SqliteOutboxOptions extends OutboxOptions<SqliteDatabase> {
  /**
   * The database file, on a local disk; created at first use if it does not exist, readable by its owner only. It can be your own
   * database and the file of an inbox.
   */
  file: string;
  /** Opens the file. Default: `node:sqlite` where the runtime has it, else the package `libsql`. */
  open?: OpenSqlite;
}

export interface SqliteOutbox extends Outbox {
  /**
   * Adds an entry in the transaction that saves the user: both are stored, or neither.
   * @param database your own connection to the file, in an open transaction; or that of `write`.
   * @returns `added`, or the state of the entry that the user has. After `rejected` use `correct`.
   * @throws {TypeError} outside of a transaction, on a connection to another file, and for an invalid entry.
   * @throws {IssuingError} `configuration` for a request that `issueCard` would not send.
   */
  add<Fields>(database: SqliteDatabase, entry: OwedCard<Fields>): "added" | OutboxState;
  /** Replaces the form of an entry, in your own transaction, unless the service may have received the old one. */
  correct(
    database: SqliteDatabase,
    userId: UserId,
    request: IssueCardRequest,
    options?: TemplateOption,
  ): CorrectionResult;
  /** Runs a synchronous function in a transaction of the outbox's own connection: to save the user and add the entry. */
  write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>): Promise<Result>;
}

/**
 * Creates the outbox. The file is opened at first use.
 * @throws {TypeError} for an invalid option.
 * @throws {IssuingError} `configuration` when the client has no address: a build without `LOYALTY_URL` must not call it.
 * @throws at first use when the file cannot be used, SQLite is not available, the tables are of a newer version, or belong to another service.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
 *
 * const outbox = sqliteOutbox({
 *   client: createIssuingClient(),
 *   file: "shop.db",
 *   onIssued: ({ userId, cardId }, database) => {
 *     database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
 *   },
 * });
 * outbox.work();
 *
 * export async function signUp(id: number, phone: string) {
 *   await outbox.write((database) => {
 *     database.prepare("INSERT INTO users (id, phone) VALUES (?, ?)").run(id, phone);
 *     const request = { customer: { phone, consents: { privacy: { version: "2026-01" } } } };
 *     outbox.add(database, { userId: id, template: "tpl_coffee", request });
 *   });
 *   return outbox.issue(id, { deadlineMs: 5_000 }); // the card, or "waiting": the worker issues it later
 * }
 * ```
 */
export function sqliteOutbox(options: SqliteOutboxOptions): SqliteOutbox {
  const steps = parseOutboxOptions("sqliteOutbox", options, "file", "open");
  const { file, open = openSqlite } = options;
  if (typeof file !== "string" || file === "" || file.startsWith(":memory:"))
    throw invalid(`sqliteOutbox needs a file on a disk: { file: "shop.db" }.`);
  const jobs = createOutboxJobs(steps);
  const jobsDatabase = createSqliteDatabase(
    () => openDurableFile("sqliteOutbox", file, open, prepareTables),
    () => steps.clock.now(),
    "outbox",
    jobs.getLatest,
  );
  function prepareTables(connection: SqliteDatabase): void {
    connection.exec(settingsTables); // first, so that tables of a newer version are not changed
    jobsDatabase.runIn(connection, checkSettings(steps));
    connection.exec(sqliteTables);
  }
  /** The operations of one turn of the event loop, which are one transaction. */
  let turn: ReturnType<typeof beginTurn> | undefined;
  function beginTurn() {
    const starts: (() => Operation<unknown>)[] = [];
    const results = new Promise<void>((resolve) => realSetImmediate(resolve)).then(() => {
      turn = undefined;
      return jobsDatabase.transact((own) => starts.map((start) => jobsDatabase.runIn(own, start())));
    });
    return { starts, results };
  }

  const database: OutboxDatabase = {
    async run(start) {
      return jobsDatabase.run(start());
    },
    async transact(start) {
      return jobsDatabase.transact((own) => jobsDatabase.runIn(own, start()));
    },
    // A commit waits for the disk, and the results of other requests arrive meanwhile: a drain takes a third of the time.
    async transactTogether<Result>(start: () => Operation<Result>) {
      turn ??= beginTurn();
      const { starts, results } = turn;
      const index = starts.push(start) - 1;
      return results.then(
        (all) => all[index] as Result,
        (error) => {
          if (starts.length === 1) throw error;
          return database.transact(start); // another one may have failed
        },
      );
    },
    isConflict: isBusy,
    tidy() {
      // Deleted data stays in the log until a checkpoint truncates it. One that waited for a reading connection would stop the process.
      const connection = jobsDatabase.open();
      connection.exec("PRAGMA busy_timeout = 0");
      try {
        connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      } finally {
        connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      }
    },
    close() {
      if (jobsDatabase.isOpen()) database.tidy();
      jobsDatabase.close();
    },
  };
  const parts = createOutbox(options as never, steps, jobs, database);

  /** The connection of `write` while its function runs. */
  let writing: SqliteDatabase | undefined;

  /** Runs an operation in the user's transaction. If the outbox has not opened the file, the tables are created in it, because it may hold the lock. */
  function runIn<Result>(connection: SqliteDatabase, operation: Operation<Result>): Result {
    if (connection !== writing) {
      requireTransaction(connection);
      requireFile(connection, file);
      connection.exec("PRAGMA secure_delete = ON");
      if (!jobsDatabase.isOpen()) prepareTables(connection);
    }
    return jobsDatabase.runIn(connection, operation);
  }

  return {
    ...parts.outbox,
    add: (connection, entry) => runIn(connection, parts.add(entry)),
    correct: (connection, userId, request, templateOption) =>
      runIn(connection, parts.correct(userId, request, templateOption)),
    async write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>) {
      return jobsDatabase.transact((connection) => {
        writing = connection;
        try {
          return requireSynchronous<Result>("outbox.write", work(connection));
        } finally {
          writing = undefined;
        }
      });
    },
  };
}

/** Fake timers of a test do not stop it. */
const realSetImmediate = setImmediate;

function requireTransaction(database: SqliteDatabase): void {
  if (typeof (database as { exec?: unknown } | null)?.exec !== "function")
    throw invalid(
      "outbox.add and outbox.correct take the connection first, which is the argument of the function of outbox.write: outbox.add(database, entry).",
    );
  if (isInTransaction(database)) return;
  throw invalid(
    "outbox.add or outbox.correct was called outside of a transaction. Call it in the one that saves the user: outbox.write((database) => { …save the user… outbox.add(database, entry); }). On a connection that you opened yourself, call it between BEGIN and COMMIT.",
  );
}

/** @throws {TypeError} for a connection to another file: the entry would not be stored with its user. */
function requireFile(database: SqliteDatabase, file: string): void {
  const files = database.prepare("SELECT file FROM pragma_database_list").all() as { file: string }[];
  if (files.some((each) => isSameFile(each.file, file))) return;
  throw invalid(
    `This connection is to ${files[0]?.file || "a database in memory"}, and the outbox is in ${file}: open a connection to the same file, or use that of outbox.write.`,
  );
}
