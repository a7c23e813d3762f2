/** Entry point `/postgres`: an outbox in your own PostgreSQL, for processes on several machines. */
import { createPostgresDatabase, isConflict, type Transact } from "@loyalty-cards/internal/jobs/postgres";
import {
  type PgPool,
  type PostgresJs,
  withPgTransaction,
  withPostgresJsTransaction,
} from "@loyalty-cards/internal/postgres/run-transaction";
import {
  type PostgresClient,
  type PostgresTransaction,
  queryRows,
  requireTransaction,
} from "@loyalty-cards/internal/postgres/transaction";
import type { IssueCardRequest, UserId } from "@loyalty-cards/issuing-client";
import type { CorrectionResult } from "./changes.ts";
import { createOutbox } from "./create-outbox.ts";
import { invalid, type OutboxState, type OwedCard } from "./entry.ts";
import { type Outbox, type OutboxOptions, parseOutboxOptions, type TemplateOption } from "./outbox.ts";
import { checkSettings, createOutboxJobs, findPostgresTables, postgresTables } from "./tables.ts";

/** The options of both outboxes, and either a pool or a function that runs transactions. */
export type PostgresOutboxOptions<Transaction extends PostgresTransaction> = OutboxOptions<Transaction> &
  (
    | {
        /** A `Pool` of `pg`, or the `sql` of postgres.js. No connection is held while a request is sent. Serialization failures and deadlocks are repeated. */
        pool: PgPool<Transaction> | PostgresJs<Transaction>;
        transaction?: never;
      }
    | {
        /** Runs work in a transaction of another client, such as `(work) => prisma.$transaction(work)`. */
        transaction: Transact<Transaction>;
        pool?: never;
      }
  );

export interface PostgresOutbox<Transaction> extends Outbox {
  /**
   * Adds an entry in the transaction that saves the user: both are stored, or neither. Without `await`, the transaction can be
   * committed before the entry is added.
   * @param transaction of pg, postgres.js, Prisma, Drizzle or Kysely.
   * @returns `added`, or the state of the entry that the user has. After `rejected` use `correct`.
   * @throws {TypeError} for a client that is not in a transaction, and for an invalid entry.
   * @throws {IssuingError} `configuration` for a request that `issueCard` would not send.
   */
  add<Fields>(transaction: PostgresTransaction, entry: OwedCard<Fields>): Promise<"added" | OutboxState>;
  /** Replaces the form of an entry, in your own transaction, unless the service may have received the old one. */
  correct(
    transaction: PostgresTransaction,
    userId: UserId,
    request: IssueCardRequest,
    options?: TemplateOption,
  ): Promise<CorrectionResult>;
  /** Runs work in a transaction of the pool: to save the user and add the entry. Commits when it resolves, rolls back when it rejects. */
  write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

/**
 * Creates the tables if they do not exist, in the first schema of the search path. Safe to run in several processes
 * at once. A role that may not create tables can call it when they exist.
 * @example
 * ```ts
 * import { ensureOutboxTables } from "@loyalty-cards/issuing-outbox/postgres";
 * import pg from "pg";
 *
 * await ensureOutboxTables(new pg.Pool()); // or run migrations/postgres/*.sql with your own tool
 * ```
 */
export async function ensureOutboxTables(client: PostgresClient): Promise<void> {
  const rows = await queryRows(client, findPostgresTables, []);
  if (rows.length === 0) await queryRows(client, postgresTables, []);
}

/**
 * Creates the outbox. Its tables must exist: see `ensureOutboxTables`.
 * @throws {TypeError} for an invalid option.
 * @throws {IssuingError} `configuration` when the client has no address: a build without `LOYALTY_URL` must not call it.
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
export function postgresOutbox<Transaction extends PostgresTransaction>(
  options: PostgresOutboxOptions<Transaction>,
): PostgresOutbox<Transaction> {
  const steps = parseOutboxOptions("postgresOutbox", options, "pool", "transaction");
  const { pool, testing } = options;
  const transact = getTransact(options);
  const database = createPostgresDatabase(transact, {
    pool: pool as PostgresClient | undefined,
    now: testing?.clock && (() => steps.clock.now()),
    check: () => checkSettings(steps),
    missingTables:
      "The tables of the outbox do not exist in this database and search path: call ensureOutboxTables(pool) when the program starts, or run migrations/postgres/*.sql.",
  });
  const { outbox, add, correct } = createOutbox(options as never, steps, createOutboxJobs(steps), {
    ...database,
    transactTogether: database.transact, // PostgreSQL commits concurrent transactions together
    isConflict,
    tidy() {}, // PostgreSQL removes deleted rows itself
    close() {}, // the pool is the program's
  });
  const require = (transaction: PostgresTransaction) => requireTransaction(transaction, need, consequence);
  return {
    ...outbox,
    add: async (transaction, entry) => database.runIn(require(transaction), add(entry)),
    correct: async (transaction, userId, request, templateOption) =>
      database.runIn(require(transaction), correct(userId, request, templateOption)),
    write: (work) => transact(work),
  };
}

const need = "outbox.add and outbox.correct need the transaction that saves the user";
const consequence = "added outside of it, an entry could exist without its user, or a user without an entry";

/** @throws {TypeError} when the options have neither a pool nor `transaction`. */
function getTransact<Transaction extends PostgresTransaction>({
  pool,
  transaction,
}: PostgresOutboxOptions<Transaction>): Transact<Transaction> {
  if (typeof transaction === "function" && pool === undefined) return transaction;
  if (transaction === undefined && typeof pool === "function")
    return (work) => withPostgresJsTransaction(pool as never, work as never);
  if (transaction === undefined && typeof (pool as { connect?: unknown } | undefined)?.connect === "function")
    return (work) => withPgTransaction(pool as never, work as never);
  throw invalid(
    "postgresOutbox needs pool, which is a Pool of pg or the sql of postgres.js, or transaction: (work) => prisma.$transaction(work). Pass one of the two.",
  );
}
