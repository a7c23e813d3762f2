/** Entry point `/postgres`: an outbox in your own PostgreSQL, for processes on several machines. */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { correctTimes } from "@loyalty-cards/internal/jobs/correct-times";
import {
  createPostgresDatabase,
  isTransactionConflict,
  type WithTransaction,
} from "@loyalty-cards/internal/jobs/postgres";
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import {
  hasMethod,
  type PostgresClient,
  type PostgresTransaction,
  queryRows,
  requireClient,
} from "@loyalty-cards/internal/postgres/client";
import { type PgPool, withPgTransaction } from "@loyalty-cards/internal/postgres/pg-transaction";
import {
  type PostgresJs,
  withPostgresJsTransaction,
} from "@loyalty-cards/internal/postgres/postgres-js-transaction";
import type { IssueCardRequest, UserId } from "@loyalty-cards/issuing-client";
import { add } from "./add.ts";
import { type CorrectionResult, correct } from "./changes.ts";
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
import {
  findPostgresTables,
  nameOutboxTables,
  postgresTables,
  requireOwnSettings,
} from "./tables.ts";

export { fromDrizzle, fromKysely } from "@loyalty-cards/internal/postgres/adapters";
export type { PostgresTransaction } from "@loyalty-cards/internal/postgres/client";

const optionNames = {
  pool: true,
  transaction: true,
  adapt: true,
  ...outboxOptionNames,
} satisfies OptionNames<PostgresOutboxOptions>;

/** The options of both outboxes, and either a pool or a function that runs transactions. */
export type PostgresOutboxOptions<Transaction = PostgresTransaction> = OutboxOptions<Transaction> &
  (
    | {
        /**
         * A `Pool` of `pg`, or the `sql` of postgres.js. No connection is held while a request is
         * sent. Serialization failures and deadlocks are repeated, except in `write`.
         */
        pool: PgPool<Transaction> | PostgresJs<Transaction>;
        transaction?: never;
        adapt?: never;
      }
    | ({
        /**
         * Runs work in a transaction of another client, such as
         * `(work) => prisma.$transaction(work)`.
         */
        transaction: WithTransaction<Transaction>;
        pool?: never;
      } & AdaptOption<Transaction>)
  );

/** Libraries such as Drizzle and Kysely, whose transactions have no `query`, need it. */
type AdaptOption<Transaction> = [Transaction] extends [PostgresTransaction]
  ? { adapt?: Adapt<Transaction> }
  : {
      /**
       * Adapts this transaction, such as `(tx) => fromDrizzle(tx, sql)`. `write` and the callbacks
       * get it as it is.
       */
      adapt: Adapt<Transaction>;
    };
type Adapt<Transaction> = (transaction: Transaction) => PostgresTransaction;

/** The transaction of `adapt`. Without `adapt`, that of any client. */
type AnyTransaction<Transaction> = Transaction extends PostgresTransaction
  ? PostgresTransaction
  : Transaction;

export interface PostgresOutbox<Transaction = PostgresTransaction> extends Outbox {
  /**
   * Adds an entry in the transaction that saves the user: both are stored, or neither. Without
   * `await`, `write` rejects, and in another transaction it may come after COMMIT and reject.
   * @param transaction of pg, postgres.js or Prisma; `fromDrizzle(tx, sql)`,
   * `fromKysely(tx, CompiledQuery)`; any object with `query(text, values)`. With the option
   * `adapt`, the transaction that it adapts.
   * @returns `added`, or the state of the entry that the user has. After `rejected` use `correct`.
   * @throws {TypeError} for a client that is not in a transaction, and for an invalid entry.
   * @throws {IssuingError} `configuration` for a request that `issueCard` would not send.
   */
  add<Fields>(
    transaction: AnyTransaction<Transaction>,
    entry: OwedCard<Fields>,
  ): Promise<"added" | OutboxState>;
  /**
   * Replaces the form of an entry, in your own transaction, unless the old one has a card or may
   * get one: see `CorrectionResult`.
   */
  correct(
    transaction: AnyTransaction<Transaction>,
    userId: UserId,
    request: IssueCardRequest,
    options?: TemplateOption,
  ): Promise<CorrectionResult>;
  /**
   * Runs work in a transaction of `pool` or `transaction`: to save the user and add the entry.
   * Commits when it resolves, rolls back when it rejects.
   */
  write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

/**
 * Creates the tables in the first schema of the search path, unless one of its schemas has them.
 * Safe to run in several processes at once. A role that may not create tables can call it when they
 * exist.
 * @example
 * ```ts
 * import { ensureOutboxTables } from "@loyalty-cards/issuing-outbox/postgres";
 * import pg from "pg";
 *
 * // or run migrations/postgres/*.sql with your own tool
 * await ensureOutboxTables(new pg.Pool());
 * ```
 */
export async function ensureOutboxTables(client: PostgresClient): Promise<void> {
  requireClient("ensureOutboxTables", client);
  const rows = await queryRows(client, findPostgresTables, []);
  if (rows.length === 0) await queryRows(client, postgresTables, []);
}

/**
 * Creates the outbox, and comes from `@loyalty-cards/issuing-outbox/postgres`. Its tables must
 * exist: see `ensureOutboxTables`.
 * @throws {TypeError} for an invalid option.
 * @throws {IssuingError} `configuration` when the client has no address: a build without
 * `LOYALTY_URL` must not call it.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { ensureOutboxTables, postgresOutbox } from "@loyalty-cards/issuing-outbox/postgres";
 * import pg from "pg";
 *
 * const pool = new pg.Pool();
 * await ensureOutboxTables(pool);
 * const outbox = postgresOutbox({
 *   client: createIssuingClient(),
 *   pool,
 *   onIssued: ({ userId, cardId }, transaction) =>
 *     transaction.query("UPDATE users SET card = $1 WHERE id = $2", [cardId, userId]),
 * });
 * outbox.work();
 * ```
 */
export function postgresOutbox<Transaction = PostgresTransaction>(
  options: PostgresOutboxOptions<Transaction>,
): PostgresOutbox<Transaction> {
  const settings = parseOutboxOptions("postgresOutbox", options, optionNames);
  const { client } = settings;
  const { pool, adapt, testing } = options;
  const tables = nameOutboxTables("postgres", client);
  const database = createPostgresDatabase(selectTransaction(options), {
    pool: pool as PostgresClient | undefined,
    adapt,
    now: testing?.clock && (() => client.clock.now()),
    check: () => requireOwnSettings(client),
    messages,
  });
  const { outbox, context } = createOutbox(settings, tables, {
    ...database,
    transactInBatch: database.transact, // PostgreSQL commits concurrent transactions together
    isRepeatable: isTransactionConflict,
    correctTimes: () => database.runEach(() => correctTimes(tables)),
    tidy() {}, // PostgreSQL removes deleted rows itself
    close() {}, // the pool is the program's
  });
  return {
    ...outbox,
    add: (transaction, entry) => database.join(transaction as Transaction, add(context, entry)),
    correct: (transaction, userId, request, templateOption) =>
      database.join(transaction as Transaction, correct(context, userId, request, templateOption)),
    async write(work) {
      requireOpen(context);
      if (typeof work !== "function") throw createTypeError(writeNeedsFunction);
      return database.write(work);
    },
  };
}

const messages = {
  need: "outbox.add and outbox.correct need the transaction that saves the user",
  consequence:
    "added outside of it, an entry could exist without its user, or a user without an entry",
  missingTables:
    "The tables of the outbox do not exist in this database and search path: call ensureOutboxTables(pool) when the program starts, or run migrations/postgres/*.sql. If they exist, this transaction is of another database.",
  notAwaited:
    "The option transaction ended before its work: return the promise of the transaction, as in transaction: (work) => prisma.$transaction(work).",
  stillRan:
    "Nothing was stored: an operation of outbox.write still ran when its function had ended. Is outbox.add awaited? Write await outbox.add(transaction, entry).",
  untranslatable:
    "The encoding of this database has no character of a user id, a template or the form. A database with the encoding UTF8 stores all of them.",
};

/** @throws {TypeError} when the options have neither a pool nor `transaction`, or both. */
function selectTransaction<Transaction>(
  options: PostgresOutboxOptions<Transaction>,
): WithTransaction<Transaction> {
  const { pool, transaction, adapt } = options;
  if (pool === undefined && typeof transaction === "function") return transaction;
  if (transaction === undefined && adapt === undefined) {
    if (hasMethod(pool, "begin"))
      return (work) => withPostgresJsTransaction(pool as never, work as never);
    const isClient = hasMethod(pool, "escapeIdentifier");
    if (hasMethod(pool, "connect") && !isClient)
      return (work) => withPgTransaction(pool as never, work as never);
  }
  const isOtherLibrary = pool !== undefined && transaction === undefined;
  throw createTypeError(isOtherLibrary ? wrongPool : noPool);
}

const noPool =
  "postgresOutbox needs pool, which is a Pool of pg or the sql of postgres.js, or transaction: (work) => prisma.$transaction(work). Pass one of the two, and adapt only with transaction.";
const wrongPool =
  "pool is neither a Pool of pg, which a Client is not, nor the sql of postgres.js. With Drizzle or Kysely pass transaction and adapt: (tx) => fromDrizzle(tx, sql); with Knex transaction: (work) => knex.transaction((trx) => work(fromKnex(trx))). See https://loyalty-cards.github.io/loyalty-cards/guides/outbox#postgresql-libraries.";
