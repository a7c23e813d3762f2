/**
 * Runs work in a transaction of pg or postgres.js: commits all of it or nothing, and survives a
 * connection that is cut.
 */
import { withSafeMessage } from "../errors.ts";
import { setRealTimeout } from "../timers.ts";
import { hasCode, type PostgresJsClient, type QueryClient } from "./transaction.ts";

/** The part of a client of `pg` 8 that is used. */
interface PgPoolClient extends QueryClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; command: string }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
}

/**
 * The part of a `Pool` of `pg` 8 that is used. The first signature lets TypeScript infer the type
 * of the client.
 */
export interface PgPool<Client> {
  connect(): Promise<Client>;
  connect(callback: (error: Error | undefined, client: Client | undefined) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  listenerCount(event: "error"): number;
}

/** The part of the `sql` of `postgres` 3 that is used. */
export interface PostgresJs<Transaction> {
  begin(work: (transaction: Transaction) => Promise<unknown>): Promise<unknown>;
  begin(options: string, work: (transaction: Transaction) => Promise<unknown>): Promise<unknown>;
}

/**
 * 25006 read_only_sql_transaction, 57P01 admin_shutdown, 57P02 crash_shutdown, 57P03
 * cannot_connect_now: after a failover another connection reaches the new server, this one never.
 */
export const isServerLost = (error: unknown): boolean =>
  hasCode(error, "25006", "57P01", "57P02", "57P03");

/**
 * Runs work in a transaction of `pg`. When the connection is cut before, during or between queries,
 * it rejects at once. The connection does not go back to the pool, nor does one to a server that
 * became read-only or shuts down. A pool without a listener for `error` gets an empty one:
 * otherwise `pg` ends the process when an idle connection is cut.
 * @throws what `work` threw; an error that says so when COMMIT got no response, or was a rollback
 * because `work` ignored a failed query.
 */
export async function withPgTransaction<Client extends PgPoolClient, Result>(
  pool: PgPool<Client>,
  work: (transaction: Client) => PromiseLike<Result> | Result,
): Promise<Result> {
  if (pool.listenerCount("error") === 0) pool.on("error", () => {});
  const connection = await connect(pool);
  const { client } = connection;
  let isCommitting = false;
  try {
    await client.query("BEGIN");
    const result = await Promise.race([work(client), connection.lost]);
    isCommitting = true;
    await commitPg(client);
    return result;
  } catch (error) {
    if (isServerLost(error)) connection.setLost(error as Error);
    await client.query("ROLLBACK").catch(connection.setLost);
    if (isCommitting && connection.isLost()) throw createUnknownCommit(error);
    throw error;
  } finally {
    connection.release();
  }
}

/** The notices of PostgreSQL, which `pg` emits before it resolves a query. */
interface Notices {
  on(event: "notice", listener: (notice: unknown) => void): unknown;
  removeListener(event: "notice", listener: (notice: unknown) => void): unknown;
}

/** @throws when there was nothing to commit. */
async function commitPg(client: PgPoolClient): Promise<void> {
  const notices = client as unknown as Notices;
  let isOutside = false;
  const onNotice = (notice: unknown) => {
    isOutside ||= hasCode(notice, "25P01"); // no_active_sql_transaction
  };
  notices.on("notice", onNotice);
  try {
    const { command } = await client.query("COMMIT");
    requireCommitted(command);
  } finally {
    notices.removeListener("notice", onNotice);
  }
  if (!isOutside) return;
  throw withSafeMessage(
    new Error(
      "The transaction was ended inside of its function, with COMMIT or ROLLBACK. Leave both out: to roll back, throw an error.",
    ),
  );
}

/** Takes a client of a pool, and notices when its connection is lost. */
function connect<Client extends PgPoolClient>(pool: PgPool<Client>) {
  let lostBy: Error | undefined;
  let rejectLost = (_error: Error) => {};
  const lost = new Promise<never>((_, reject) => {
    rejectLost = reject;
  });
  lost.catch(() => {}); // not unhandled: before or after `work`, the query that runs rejects too
  function setLost(error: Error): void {
    lostBy ??= error;
    rejectLost(error);
  }
  const watch = (client: Client) => {
    client.on("error", setLost); // while a client is in use, its pool does not listen
    return {
      client,
      /** Rejects when the connection is lost. */
      lost,
      setLost,
      isLost: () => lostBy !== undefined,
      /** Returns the client to the pool, which removes a lost one. */
      release(): void {
        client.removeListener("error", setLost);
        client.release(lostBy);
      },
    };
  };
  // The call passes a callback, because a new connection can be cut in the packet that completes
  // it, before a promise continues.
  return new Promise<ReturnType<typeof watch>>((resolve, reject) =>
    pool.connect((error, client) => {
      if (client === undefined) reject(error);
      else resolve(watch(client));
    }),
  );
}

/** How far a transaction of postgres.js came. */
interface Progress<Result> {
  phase: "working" | "committing" | "committed";
  /** What `work` returned. */
  result?: Result;
  /** What `work` or COMMIT threw. */
  failure?: { error: unknown };
}

/**
 * Runs work in a transaction of postgres.js. With `sql.begin` of postgres 3.4, a connection that is
 * cut inside of it ends the process, blocks its place in the pool for good, or lets the rest of
 * `work` run on the next use of the connection, outside of any transaction. Here the call rejects
 * at once, and queries of a transaction that has ended throw.
 * @throws what `work` threw; an error that says so when COMMIT got no response, or was a rollback.
 */
export async function withPostgresJsTransaction<Transaction extends PostgresJsClient, Result>(
  sql: PostgresJs<Transaction>,
  work: (transaction: Transaction) => PromiseLike<Result> | Result,
): Promise<Result> {
  const gate = createGate();
  const progress: Progress<Result> = { phase: "working" };
  try {
    await sql.begin(async (transaction) => {
      try {
        progress.result = await work(guard(transaction, gate.requireOpen));
        await gate.whenWritable();
        progress.phase = "committing";
        await commit(transaction);
        progress.phase = "committed";
      } catch (error) {
        progress.failure = { error };
        await gate.whenWritable();
        throw error; // so that postgres.js sends ROLLBACK
      }
    });
  } catch (error) {
    gate.close(new Error(`${hasEnded}.`, { cause: error }));
    if (progress.phase !== "committed") throw explainFailure(progress, error);
  } finally {
    gate.close(new Error(`${hasEnded}: await every query inside of it.`));
  }
  return progress.result as Result;
}

/**
 * The COMMIT of postgres.js is a prepared statement: where a pooler loses it, PostgreSQL rolls
 * back, and postgres.js reports a success. This COMMIT is not prepared, and its response says what
 * happened. AND CHAIN begins a transaction without statements, which postgres.js then commits.
 */
async function commit(transaction: PostgresJsClient): Promise<void> {
  const response = await transaction.unsafe("COMMIT AND CHAIN", []);
  requireCommitted((response as { command?: string }).command);
}

/** @param error that of `sql.begin`. */
function explainFailure({ phase, failure }: Progress<unknown>, error: unknown): unknown {
  if (phase === "committing" && isConnectionError(error)) return createUnknownCommit(error);
  return failure === undefined ? error : failure.error;
}

/**
 * Errors of the socket, and those of postgres.js about it, have an `errno`; errors of PostgreSQL
 * have none.
 */
const isConnectionError = (error: unknown) =>
  typeof error === "object" && error !== null && "errno" in error;

/** Creates a gate, which is open until the transaction of postgres.js has ended. */
function createGate() {
  let closedBy: Error | undefined;
  return {
    /** Only the first reason counts. */
    close(reason: Error): void {
      closedBy ??= reason;
    },
    /** @throws the reason when it is closed. */
    requireOpen(): void {
      if (closedBy !== undefined) throw closedBy;
    },
    /**
     * Waits until postgres.js can write; for ever when the gate is closed. A write of postgres.js
     * to a closed socket ends the process, so COMMIT and ROLLBACK must not be sent on a lost
     * connection. It waits in a timer, because Node.js reports a closed socket before it runs
     * timers, and reports no other one before the caller has written.
     */
    whenWritable: () =>
      new Promise<void>((resolve) => {
        setRealTimeout(() => {
          if (closedBy === undefined) resolve();
        }, 0);
      }),
  };
}

/** Wraps a function or object, so that each call runs `check` first, in savepoints too. */
function guard<Target extends object>(target: Target, check: () => void): Target {
  return new Proxy(target, {
    apply(call, self, values) {
      check();
      const passed = values.map((value) =>
        typeof value === "function" ? (inner: object) => value(guard(inner, check)) : value,
      );
      return Reflect.apply(call as () => unknown, self, passed);
    },
    get(owner, name) {
      const value = Reflect.get(owner, name);
      return typeof value === "function" ? guard(value, check) : value;
    },
  });
}

/** @throws when PostgreSQL reports that its COMMIT was a ROLLBACK. */
function requireCommitted(command: string | undefined): void {
  if (command !== "ROLLBACK") return;
  throw withSafeMessage(
    new Error(
      "PostgreSQL rolled the transaction back at COMMIT: a query in it had failed, and its error was ignored.",
    ),
  );
}

/**
 * 08007 transaction_resolution_unknown: the code of the cause must not count as that of a rollback.
 */
const createUnknownCommit = (cause: unknown) =>
  Object.assign(
    new Error("COMMIT got no response: whether the transaction was committed is unknown.", {
      cause,
    }),
    { code: "08007" },
  );
const hasEnded = "The transaction has ended, so this query was not sent";
