/** Runs work in a transaction of pg or postgres.js: commits all of it or nothing, and survives a connection that is cut. */
import { withSafeMessage } from "../reporting.ts";
import type { PgTransaction, PostgresJsTransaction } from "./transaction.ts";

/** The part of a client of `pg` 8 that is used. */
export interface PgPoolClient extends PgTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; command: string }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
}

/** The part of a `Pool` of `pg` 8 that is used. The first signature lets TypeScript infer the type of the client. */
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
 * Runs work in a transaction of `pg`. When the connection is cut before, during or between queries, it rejects at once, and the connection does
 * not go back to the pool. A pool without a listener for `error` gets an empty one: otherwise `pg` ends the process when an idle connection is cut.
 * @throws what `work` threw; an error that says so when COMMIT got no response, or was a rollback because `work` ignored a failed query.
 */
export async function withPgTransaction<Client extends PgPoolClient, Result>(
  pool: PgPool<Client>,
  work: (transaction: Client) => PromiseLike<Result> | Result,
): Promise<Result> {
  if (pool.listenerCount("error") === 0) pool.on("error", () => {});
  let connectionError: Error | undefined;
  let onError = (_error: Error) => {};
  const lost = new Promise<never>((_, reject) => {
    onError = (error) => {
      connectionError ??= error;
      reject(error);
    };
  });
  lost.catch(() => {}); // handled: when the connection is lost before or after `work`, the query that runs then rejects
  // With a callback, because a new connection can be cut in the packet that completes it, before a promise continues.
  const client = await new Promise<Client>((resolve, reject) =>
    pool.connect((error, connected) => {
      if (connected === undefined) return reject(error);
      connected.on("error", onError); // while a client is in use, its pool does not listen
      resolve(connected);
    }),
  );
  let isCommitting = false;
  try {
    await client.query("BEGIN");
    const result = await Promise.race([work(client), lost]);
    isCommitting = true;
    const { command } = await client.query("COMMIT");
    if (command === "ROLLBACK") throw withSafeMessage(new Error(rolledBack));
    return result;
  } catch (error) {
    await client.query("ROLLBACK").catch(onError);
    throw isCommitting && connectionError !== undefined ? new Error(unknownCommit, { cause: error }) : error;
  } finally {
    client.removeListener("error", onError);
    client.release(connectionError);
  }
}

/**
 * Runs work in a transaction of postgres.js. With `sql.begin` of postgres 3.4, a connection that is cut inside of it ends the process, blocks
 * its place in the pool for good, or lets the rest of `work` run on the next use of the connection, outside of any transaction. Here the call
 * rejects at once, and queries of a transaction that has ended throw.
 * @throws what `work` threw; an error that says so when COMMIT got no response, or was a rollback.
 */
export async function withPostgresJsTransaction<Transaction extends PostgresJsTransaction, Result>(
  sql: PostgresJs<Transaction>,
  work: (transaction: Transaction) => PromiseLike<Result> | Result,
): Promise<Result> {
  let result = undefined as Result; // of `work`, when the commit is done
  let failure: { error: unknown } | undefined;
  let commit = "none" as "none" | "sent" | "done";
  let ended: Error | undefined;
  const checkOpen = () => {
    if (ended !== undefined) throw ended;
  };
  /** A write of postgres.js to a closed socket ends the process, so COMMIT and ROLLBACK must not be sent on a lost connection. */
  const proceed = (next: () => void) =>
    // In a timer, because Node.js reports a closed socket before it runs timers, and reports no other one before `next` has written.
    setRealTimeout(() => {
      if (ended === undefined) next();
    }, 0);
  try {
    await sql.begin(async (transaction) => {
      try {
        result = await work(guarded(transaction, checkOpen));
        await new Promise<void>(proceed);
        commit = "sent";
        // The COMMIT of postgres.js is a prepared statement: where a pooler loses it, PostgreSQL rolls back, and postgres.js reports
        // a success. This COMMIT is not prepared, and its response says what happened. AND CHAIN begins a transaction without
        // statements, which postgres.js then commits.
        const { command } = (await transaction.unsafe("COMMIT AND CHAIN", [])) as { command?: string };
        if (command === "ROLLBACK") throw withSafeMessage(new Error(rolledBack));
        commit = "done";
      } catch (error) {
        failure = { error };
        await new Promise<void>(proceed);
        throw error;
      }
    });
  } catch (error) {
    ended = new Error("The transaction has ended, so this query was not sent.", { cause: error });
    if (commit === "sent" && isConnectionError(error)) throw new Error(unknownCommit, { cause: error });
    if (commit !== "done") throw failure === undefined ? error : failure.error;
  } finally {
    ended ??= new Error(
      "The transaction has ended, so this query was not sent: await every query inside of it.",
    );
  }
  return result;
}

/** Fake timers of a test do not stop a transaction. */
const setRealTimeout = setTimeout;

/** Wraps a function or object, so that each call runs `check` first, in savepoints too. */
function guarded<Target extends object>(target: Target, check: () => void): Target {
  return new Proxy(target, {
    apply(call, self, values) {
      check();
      const passed = values.map((value) =>
        typeof value === "function" ? (inner: object) => value(guarded(inner, check)) : value,
      );
      return Reflect.apply(call as () => unknown, self, passed);
    },
    get(owner, name) {
      const value = Reflect.get(owner, name);
      return typeof value === "function" ? guarded(value, check) : value;
    },
  });
}

/** Errors of the socket, and those of postgres.js about it, have an `errno`; errors of PostgreSQL have none. */
const isConnectionError = (error: unknown) => typeof error === "object" && error !== null && "errno" in error;

const rolledBack =
  "PostgreSQL rolled the transaction back at COMMIT: a query in it had failed, and its error was ignored.";
const unknownCommit = "COMMIT got no response: whether the transaction was committed is unknown.";
