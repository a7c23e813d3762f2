/** Entry point `/postgres`: an outbox in your own PostgreSQL, for processes on several machines. */
import { readIssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import {
  type PgPool,
  type PgPoolClient,
  type PostgresJs,
  withPgTransaction,
  withPostgresJsTransaction,
} from "@loyalty-cards/internal/postgres/run-transaction";
import {
  type PostgresClient,
  type PostgresJsTransaction,
  type PostgresTransaction,
  queryRows,
  requireTransaction,
} from "@loyalty-cards/internal/postgres/transaction";
import type { Card, IssueCardRequest, UserId } from "@loyalty-cards/issuing-client";
import { invalid } from "./add.ts";
import { createCore } from "./core.ts";
import type { CorrectionResult } from "./correction.ts";
import { CallbackError, type OutboxDatabase } from "./database.ts";
import type { KnownCard, OutboxState, OwedCard } from "./entry.ts";
import { requireOutboxOptions } from "./options.ts";
import type { Outbox, OutboxOptions, TemplateOption } from "./outbox.ts";
import { postgresTables } from "./schema.ts";
import { openSettings, type Settings } from "./settings.ts";
import { type Operation, query, type Row, runAsync, type Step } from "./statement.ts";

/** A pool of `pg`, or the `sql` of postgres.js. */
type PostgresPool<Transaction> = PgPool<Transaction> | PostgresJs<Transaction>;

interface WithPool<Transaction> {
  /** A `Pool` of `pg`, or the `sql` of postgres.js. No transaction and no connection is held while a request is sent. */
  pool: PostgresPool<Transaction>;
  transaction?: never;
}

interface WithTransaction<Transaction> {
  /** Runs work in a transaction of another client, such as `(work) => prisma.$transaction(work)`. It calls `work` once, without retries of its own. */
  transaction: <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;
  pool?: never;
}

/** The options of both outboxes, and either a pool or a function that runs transactions. */
export type PostgresOutboxOptions<Transaction extends PostgresTransaction> = OutboxOptions<Transaction> &
  (WithPool<Transaction> | WithTransaction<Transaction>);

export interface PostgresOutbox<Transaction> extends Outbox {
  /**
   * Adds an entry in the transaction that saves the user: both are stored, or neither.
   * @param transaction of pg, postgres.js, Prisma, Drizzle or Kysely.
   * @returns `added`, or the state of the entry that the user has. After `rejected` use `correct`.
   * @throws {TypeError} for a client that is not in a transaction, an invalid entry, and a user who was forgotten.
   * @throws {IssuingError} `configuration` or `validation` for a request that `issueCard` would not send.
   */
  add<Fields>(
    transaction: PostgresTransaction,
    entry: OwedCard<Fields> | KnownCard,
  ): Promise<"added" | OutboxState>;
  /**
   * Replaces the form of an entry, in your own transaction. A form that the service may have received is retried until it responds.
   * @returns `accepted`: the new form is sent. `pending`: it is sent if the service rejects the old one. `too-late`: a card exists.
   * `absent`: there is no entry.
   */
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
 * Creates the tables if they do not exist, in the first schema of the search path. Safe to run in several processes at once.
 * @throws when they are of a newer version.
 * @example
 * ```ts
 * import { ensureTables } from "@loyalty-cards/issuing-outbox/postgres";
 * import pg from "pg";
 *
 * await ensureTables(new pg.Pool()); // or run migrations/postgres/*.sql with your own tool
 * ```
 */
export async function ensureTables(client: PostgresClient): Promise<void> {
  await queryRows(client, postgresTables, []);
}

/**
 * Creates the outbox. Its tables must exist: see `ensureTables`.
 * @throws {TypeError} for an invalid option.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { ensureTables, postgresOutbox } from "@loyalty-cards/issuing-outbox/postgres";
 * import pg from "pg";
 *
 * const pool = new pg.Pool();
 * await ensureTables(pool);
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
  requireOutboxOptions("postgresOutbox", options, "pool", "transaction");
  const { client, testing } = options;
  const given = readIssuingSteps<Card>(client);
  const steps = { ...given, clock: testing?.clock ?? given.clock };
  const transact = getTransact(options);
  const now = testing?.clock === undefined ? undefined : () => steps.clock.now();
  const run = <Result>(transaction: PostgresTransaction, operation: Operation<Result>) =>
    runAsync(operation, createExecutor(transaction, now));
  /** An operation cannot begin twice: after a wrapper's own retry it would go on where it failed, in another transaction. */
  const inTransaction = <Result>(operation: Operation<Result>) => {
    let isBegun = false;
    return transact(async (transaction) => {
      if (isBegun)
        throw invalid(
          "The option transaction must call its work once, without retries of its own: repeat the call of the outbox.",
        );
      isBegun = true;
      return run(transaction, operation);
    });
  };

  const database: OutboxDatabase = {
    read: inTransaction,
    write: inTransaction,
    tidy() {}, // PostgreSQL removes deleted rows itself
    async close() {}, // the pool is the program's
  };
  let opened: Settings | undefined;
  let opening: Promise<Settings> | undefined;
  function open(): Promise<Settings> {
    opening ??= inTransaction(openSettings(steps, readPlace())).then(
      (settings) => {
        opened = settings;
        return settings;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  }
  const core = createCore(options, steps, database, open);

  /** Runs an operation in the user's transaction. The settings are read in it too, because it may use the only connection of the pool. */
  async function runIn<Result>(
    transaction: PostgresTransaction,
    start: (settings: Settings) => Operation<Result>,
  ): Promise<Result> {
    requireTransaction(transaction, "saves the user", consequence);
    const settings = opened ?? (await run(transaction, openSettings(steps, readPlace())));
    return run(transaction, start(settings));
  }

  return {
    ...core.outbox,
    async add(transaction, input) {
      const entry = core.parse(input);
      return runIn(transaction, (settings) => core.add(settings, entry));
    },
    async correct(transaction, userId, request, templateOption) {
      const correction = core.prepareCorrection(userId, request, templateOption);
      return runIn(transaction, (settings) => core.correct(correction, settings));
    },
    async write(work) {
      const result = await transact(work);
      core.poll();
      return result;
    },
  };
}

const consequence = "added outside of it, an entry could exist without its user, or a user without an entry";

/** @throws {TypeError} when the options have neither a pool nor `transaction`. */
function getTransact<Transaction extends PostgresTransaction>({
  pool,
  transaction,
}: PostgresOutboxOptions<Transaction>): WithTransaction<Transaction>["transaction"] {
  if (typeof transaction === "function" && pool === undefined) return transaction;
  if (typeof pool === "function" && transaction === undefined) {
    const sql = pool as unknown as PostgresJs<PostgresJsTransaction>;
    return (work) => withPostgresJsTransaction(sql, work as never);
  }
  if (
    typeof (pool as { connect?: unknown } | undefined)?.connect === "function" &&
    transaction === undefined
  ) {
    const pgPool = pool as unknown as PgPool<PgPoolClient>;
    return (work) => withPgTransaction(pgPool, work as never);
  }
  throw new TypeError(
    "postgresOutbox needs pool, which is a Pool of pg or the sql of postgres.js, or transaction: (work) => prisma.$transaction(work). Pass one of the two.",
  );
}

function createExecutor(
  transaction: PostgresTransaction,
  now: (() => number) | undefined,
): (step: Step) => Promise<Row[]> {
  return async (step) => {
    if (step === "now") {
      if (now !== undefined) return [{ now_ms: now() }];
      return toRows(
        await queryRows(
          transaction,
          "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms",
          [],
        ),
      );
    }
    if ("call" in step) {
      try {
        await step.call(transaction as never);
      } catch (error) {
        throw new CallbackError(error);
      }
      return [];
    }
    const values = step.values.map((value) => (value === null ? null : String(value)));
    return toRows(await queryRows(transaction, step.sql, values));
  };
}

const toRows = (rows: ArrayLike<unknown>): Row[] => Array.from(rows) as Row[];

/** Identifies the tables: another cluster, database or table is a copy. A new timeline begins after a recovery from a backup, or when a standby server takes over. */
function* readPlace(): Operation<string> {
  const [row] = yield* query(
    `SELECT has_function_privilege('pg_control_system()', 'execute') AND has_function_privilege('pg_control_checkpoint()', 'execute')
       AS is_allowed, (SELECT oid FROM pg_database WHERE datname = current_database())::text || '/' ||
       'issuing_outbox_entries'::regclass::oid::text AS tables`,
  );
  const tables = String(row?.["tables"]);
  if (!row?.["is_allowed"]) return tables;
  const [control] = yield* query(
    `SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' AS system,
       '@' || (SELECT timeline_id FROM pg_control_checkpoint())::text AS timeline`,
  );
  return `${control?.["system"]}${tables}${control?.["timeline"]}`;
}
