/** `sqliteOutbox`: an outbox in a SQLite file, for the processes of one machine. */
import { readIssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { getProcessId, isRunning } from "@loyalty-cards/internal/node-lock";
import { createDatabaseClock } from "@loyalty-cards/internal/sqlite/clock";
import {
  type OpenSqlite,
  openSqlite,
  type SqliteDatabase,
  type SqliteStatement,
} from "@loyalty-cards/internal/sqlite/database-node";
import { createGroupCommit, requireSynchronous } from "@loyalty-cards/internal/sqlite/group-commit";
import { openFile, runAtStart } from "@loyalty-cards/internal/sqlite/open-file";
import type { Card, IssueCardRequest, UserId } from "@loyalty-cards/issuing-client";
import { invalid } from "./add.ts";
import { createCore } from "./core.ts";
import type { CorrectionResult } from "./correction.ts";
import { CallbackError, type OutboxDatabase } from "./database.ts";
import type { KnownCard, OutboxState, OwedCard } from "./entry.ts";
import { releaseEnded } from "./lease.ts";
import { createPrivately, getFileNumber } from "./node.ts";
import { requireOutboxOptions } from "./options.ts";
import type { Outbox, OutboxOptions, TemplateOption } from "./outbox.ts";
import { sqliteMigrations } from "./schema.ts";
import { openSettings, type Settings } from "./settings.ts";
import { type Operation, type Row, runSync, type Step, toSqlite, type Value } from "./statement.ts";

export interface SqliteOutboxOptions extends OutboxOptions<SqliteDatabase> {
  /**
   * The database file, on a local disk; created if it does not exist, readable by its owner only. It can be your own database and the
   * file of an inbox.
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
   * @throws {TypeError} outside of a transaction, for an invalid entry, and for a user who was forgotten.
   * @throws {IssuingError} `configuration` or `validation` for a request that `issueCard` would not send.
   */
  add<Fields>(database: SqliteDatabase, entry: OwedCard<Fields> | KnownCard): "added" | OutboxState;
  /**
   * Replaces the form of an entry, in your own transaction. A form that the service may have received is retried until it responds.
   * @returns `accepted`: the new form is sent. `pending`: it is sent if the service rejects the old one. `too-late`: a card exists.
   * `absent`: there is no entry.
   */
  correct(
    database: SqliteDatabase,
    userId: UserId,
    request: IssueCardRequest,
    options?: TemplateOption,
  ): CorrectionResult;
  /** Runs a synchronous function in a transaction of the outbox's own connection: to save the user and add the entry. */
  write<Result>(work: (database: SqliteDatabase) => Result): Promise<Result>;
}

/**
 * Opens the outbox.
 * @throws {TypeError} for an invalid option.
 * @throws when the file cannot be used, SQLite is not available, the tables are of a newer version, or belong to another service.
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
  requireOutboxOptions("sqliteOutbox", options, "file", "open");
  const { client, file, open = openSqlite, testing } = options;
  if (typeof file !== "string" || file === "" || file.startsWith(":memory:"))
    throw new TypeError(`sqliteOutbox needs a file on a disk: { file: "shop.db" }.`);
  const given = readIssuingSteps<Card>(client);
  const steps = { ...given, clock: testing?.clock ?? given.clock };
  createPrivately(file);
  const database = openFile("sqliteOutbox", file, open, {
    packageName: "@loyalty-cards/issuing-outbox",
    versionTable: "issuing_outbox_schema",
    migrations: sqliteMigrations,
  });
  database.exec("PRAGMA secure_delete = ON"); // what is deleted is overwritten
  database.exec("PRAGMA wal_autocheckpoint = 1000"); // with 64 pages, as an inbox has, a long list takes a third longer
  const clock = createDatabaseClock(database, "issuing_outbox_settings", () => steps.clock.now());
  const run = <Result>(operation: Operation<Result>) =>
    runSync(operation, createExecutor(database, clock.nowMs));
  let settings: Settings;
  try {
    settings = runAtStart(database, () => {
      const stored = run(openSettings(steps, getFileNumber(file)));
      run(releaseEnded((lease) => isRunning(lease) === false));
      return { ...stored, processId: getProcessId() };
    });
  } catch (error) {
    database.close();
    throw error;
  }
  const commits = createGroupCommit("outbox", database, clock.record);
  let isTidy = false;

  const adapter: OutboxDatabase = {
    read: async (operation) => run(operation),
    write(operation, isIsolated = false) {
      isTidy = false;
      return commits.commit(() => run(operation), { isIsolated });
    },
    tidy() {
      if (isTidy) return;
      // Deleted data stays in the log until a checkpoint truncates it, which a reading connection delays.
      const result = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
      isTidy = Number(result.busy) === 0;
    },
    async close() {
      commits.close();
      adapter.tidy();
      database.close();
    },
  };

  const core = createCore(options, steps, adapter, async () => settings);
  let isWriting = false;
  const runIn = <Result>(handle: SqliteDatabase, operation: Operation<Result>): Result => {
    // Inside `write` a transaction is open, and the pragma is set. Without this condition a long list takes half as long again.
    if (handle !== database || !isWriting) {
      requireTransaction(handle);
      handle.exec("PRAGMA secure_delete = ON");
    }
    isTidy = false;
    return runSync(operation, createExecutor(handle, clock.nowMs));
  };
  return {
    ...core.outbox,
    add(handle, input) {
      return runIn(handle, core.add(settings, core.parse(input)));
    },
    correct(handle, userId, request, templateOption) {
      return runIn(handle, core.correct(core.prepareCorrection(userId, request, templateOption), settings));
    },
    async write(work) {
      isTidy = false;
      const runWork = () => {
        isWriting = true;
        try {
          return requireSynchronous("write", work(database));
        } finally {
          isWriting = false;
        }
      };
      const result = await commits.commit(runWork, { isIsolated: true });
      core.poll();
      return result;
    },
  };
}

/** Prepared statements of each connection. */
const statements = new WeakMap<SqliteDatabase, Map<string, PreparedStatement>>();

interface PreparedStatement {
  statement: SqliteStatement;
  /** The index of the value of each `?`. */
  order: readonly number[];
  hasRows: boolean;
}

/** The limit for one connection: statements for many rows differ by the number of rows. */
const maxStatements = 500;

function createExecutor(database: SqliteDatabase, nowMs: () => number): (step: Step) => Row[] {
  return (step) => {
    if (step === "now") return [{ now_ms: nowMs() }];
    if ("call" in step) {
      try {
        requireSynchronous("The callback", step.call(database as never));
      } catch (error) {
        throw new CallbackError(error);
      }
      return [];
    }
    const { statement, order, hasRows } = prepare(database, step.sql);
    const values = order.map((index) => step.values[index] as Value);
    if (hasRows) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  };
}

function prepare(database: SqliteDatabase, sql: string): PreparedStatement {
  let known = statements.get(database);
  if (known === undefined || known.size > maxStatements) {
    known = new Map();
    statements.set(database, known);
  }
  let prepared = known.get(sql);
  if (prepared === undefined) {
    const { sql: text, order } = toSqlite(sql);
    prepared = { statement: database.prepare(text), order, hasRows: /^SELECT|RETURNING/.test(text) };
    known.set(sql, prepared);
  }
  return prepared;
}

/** Tests for an open transaction with BEGIN, which fails inside of one in every binding. */
function requireTransaction(database: SqliteDatabase): void {
  try {
    database.exec("BEGIN");
  } catch {
    return;
  }
  database.exec("ROLLBACK");
  throw invalid(
    "outbox.add or outbox.correct was called outside of a transaction. Call it in the one that saves the user: outbox.write((database) => { …save the user… outbox.add(database, entry); }). On a connection that you opened yourself, call it between BEGIN and COMMIT.",
  );
}
