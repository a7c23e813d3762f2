/** `sqliteOutbox`: an outbox in a SQLite file, for the processes of one machine. */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { correctTimes } from "@loyalty-cards/internal/jobs/correct-times";
import { expireLeases } from "@loyalty-cards/internal/jobs/lease";
import { getLatestMs } from "@loyalty-cards/internal/jobs/read";
import {
  createSqliteDatabase,
  executeAll,
  isInTransaction,
  type SqliteJobsDatabase,
  type Synchronous,
} from "@loyalty-cards/internal/jobs/sqlite";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import {
  isBusy,
  isSameFile,
  type OpenUserSqlite,
  openDurableFile,
  openSqlite,
  requireFileOptions,
  type SqliteDatabase,
  type UserSqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import { setRealImmediate } from "@loyalty-cards/internal/timers";
import type { IssueCardRequest, UserId } from "@loyalty-cards/issuing-client";
import { add } from "./add.ts";
import { type CorrectionResult, correct } from "./changes.ts";
import type { OutboxDatabase } from "./context.ts";
import { createOutbox, writeNeedsFunction } from "./create-outbox.ts";
import type { OutboxState, OwedCard } from "./entry.ts";
import { requireOpen } from "./job.ts";
import {
  type Outbox,
  type OutboxOptions,
  outboxOptionNames,
  parseOutboxOptions,
  type TemplateOption,
} from "./outbox.ts";
import { nameOutboxTables, requireOwnSettings, settingsTableSql, sqliteTables } from "./tables.ts";
import { backoff } from "./verdict.ts";

const optionNames = {
  file: true,
  open: true,
  ...outboxOptionNames,
} satisfies OptionNames<SqliteOutboxOptions>;

export interface SqliteOutboxOptions extends OutboxOptions<SqliteDatabase> {
  /**
   * The database file, on a local disk; created at first use if it does not exist, readable by its
   * owner only. It can be your own database and the file of an inbox.
   */
  file: string;
  /** Opens the file. Default: `node:sqlite` where the runtime has it, else the package `libsql`. */
  open?: OpenUserSqlite;
}

export interface SqliteOutbox extends Outbox {
  /**
   * Adds an entry in the transaction that saves the user: both are stored, or neither.
   * @param database your own connection to the file, in an open transaction; or that of `write`.
   * @returns `added`, or the state of the entry that the user has. After `rejected` use `correct`.
   * @throws {TypeError} outside of a transaction, on a connection to another file, and for an
   * invalid entry.
   * @throws {IssuingError} `configuration` for a request that `issueCard` would not send.
   */
  add<Fields>(database: UserSqliteDatabase, entry: OwedCard<Fields>): "added" | OutboxState;
  /**
   * Replaces the form of an entry, in your own transaction, unless the old one has a card or may
   * get one: see `CorrectionResult`.
   */
  correct(
    database: UserSqliteDatabase,
    userId: UserId,
    request: IssueCardRequest,
    options?: TemplateOption,
  ): CorrectionResult;
  /**
   * Runs a synchronous function in a transaction of the outbox's own connection: to save the user
   * and add the entry.
   */
  write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>): Promise<Result>;
  /**
   * Makes entries due at once that a killed process was sending, instead of when their leases
   * expire. Call it before this process sends, with a file that no other process can use: `open`
   * runs `PRAGMA locking_mode = EXCLUSIVE`.
   * @throws {TypeError} when other processes can use the file.
   */
  takeOver(): Promise<void>;
}

/**
 * Creates the outbox. The file is opened at first use.
 * @throws {TypeError} for an invalid option.
 * @throws {IssuingError} `configuration` when the client has no address: a build without
 * `LOYALTY_URL` must not call it.
 * @throws at first use when the file cannot be used, SQLite is not available, the tables are of
 * another version, or belong to another service.
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
 *   // the card, or "waiting": then the worker issues it later
 *   return outbox.issue(id, { deadlineMs: 5_000 });
 * }
 * ```
 */
export function sqliteOutbox(options: SqliteOutboxOptions): SqliteOutbox {
  const settings = parseOutboxOptions("sqliteOutbox", options, optionNames);
  const { client } = settings;
  const { file, open = openSqlite } = options;
  requireFileOptions("sqliteOutbox", file, open);
  const tables = nameOutboxTables("sqlite", client);
  const jobsDatabase = createSqliteDatabase({
    openFile: () => openDurableFile({ caller: "sqliteOutbox", file, open, prepare: prepareTables }),
    prepareOther(connection) {
      requireTransaction(connection);
      requireFile(connection, file);
      connection.exec("PRAGMA secure_delete = ON");
      // Opening the file on another connection would wait for the user's own lock.
      if (!jobsDatabase.isOpen()) prepareTables(connection);
    },
    now: client.clock.now,
    owner: "outbox",
    getLatestMs: () => getLatestMs(tables, backoff.maxDelayMs),
  });
  function prepareTables(connection: SqliteDatabase): void {
    connection.exec(settingsTableSql); // first, so that tables of another version are not changed
    executeAll(connection, requireOwnSettings(client), client.clock.now);
    connection.exec(sqliteTables);
  }
  const { outbox, context } = createOutbox(settings, tables, {
    async runEach(create) {
      return jobsDatabase.runEach(create());
    },
    async transact(create) {
      return jobsDatabase.transact(create());
    },
    transactInBatch: createBatches(jobsDatabase),
    isRepeatable: isBusy,
    async correctTimes() {
      jobsDatabase.followFile();
      jobsDatabase.runEach(correctTimes(tables));
    },
    tidy: jobsDatabase.tidy,
    close: jobsDatabase.close,
  });

  return {
    ...outbox,
    add: (connection, entry) => jobsDatabase.join(connection, add(context, entry)),
    correct: (connection, userId, request, templateOption) =>
      jobsDatabase.join(connection, correct(context, userId, request, templateOption)),
    async write(work) {
      requireOpen(context);
      if (typeof work !== "function") throw createTypeError(writeNeedsFunction);
      return jobsDatabase.write("outbox.write", work);
    },
    async takeOver() {
      requireExclusive(jobsDatabase.open());
      jobsDatabase.runEach(expireLeases(tables));
    },
  };
}

/** Statements that share a transaction, and their results in the same order. */
interface Batch {
  parts: (() => Statements<unknown>)[];
  results: Promise<unknown[]>;
}

/**
 * Runs in one transaction what is recorded in one turn of the event loop. A commit waits for the
 * disk, and the results of other requests arrive meanwhile: a drain takes a third of the time.
 */
function createBatches(database: SqliteJobsDatabase): OutboxDatabase["transactInBatch"] {
  /** That of this turn. */
  let batch: Batch | undefined;

  function beginBatch(): Batch {
    const parts: Batch["parts"] = [];
    const endOfTurn = new Promise<void>((resolve) => setRealImmediate(resolve));
    const results = endOfTurn.then(() => {
      batch = undefined;
      return database.transact(runAll(parts));
    });
    return { parts, results };
  }

  return async <Result>(create: () => Statements<Result>) => {
    batch ??= beginBatch();
    const { parts, results } = batch;
    const index = parts.push(create) - 1;
    try {
      return (await results)[index] as Result;
    } catch (error) {
      if (parts.length === 1) throw error; // the error is its own
      return database.transact(create()); // one of the others may have failed
    }
  };
}

function* runAll(parts: Batch["parts"]): Statements<unknown[]> {
  const results: unknown[] = [];
  for (const create of parts) results.push(yield* create());
  return results;
}

function requireTransaction(database: SqliteDatabase): void {
  if (typeof (database as { exec?: unknown } | null)?.exec !== "function")
    throw createTypeError(
      "outbox.add and outbox.correct take the connection first, which is the argument of the function of outbox.write: outbox.add(database, entry).",
    );
  if (isInTransaction(database)) return;
  throw createTypeError(
    "outbox.add or outbox.correct was called outside of a transaction. Call it in the one that saves the user: outbox.write((database) => { …save the user… outbox.add(database, entry); }). On a connection that you opened yourself, call it between BEGIN and COMMIT.",
  );
}

/** @throws {TypeError} when another process may be sending entries of the file. */
function requireExclusive(database: SqliteDatabase): void {
  const row = database.prepare("PRAGMA locking_mode").get() as { locking_mode: string };
  if (row.locking_mode === "exclusive") return;
  throw createTypeError(
    "outbox.takeOver needs a file that no other process can use: pass an open function that runs PRAGMA locking_mode = EXCLUSIVE.",
  );
}

/**
 * @throws {TypeError} for a connection to another file: the entry would not be stored with its
 * user. An attached file does not count: the tables would be created in the main one, and after a
 * crash one of the two can lack the transaction.
 */
function requireFile(database: SqliteDatabase, file: string): void {
  const select = "SELECT file FROM pragma_database_list WHERE name = 'main'";
  const main = database.prepare(select).get() as { file: string };
  if (isSameFile(main.file, file)) return;
  throw createTypeError(
    `This connection is to ${main.file || "a database in memory"}, and the outbox is in ${file}: open a connection to the same file, or use that of outbox.write.`,
  );
}
