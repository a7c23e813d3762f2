/**
 * Runs work in a transaction of pg: commits all of it or nothing, and survives a connection that is
 * cut.
 */
import { withSafeMessage } from "../errors.ts";
import { hasCode, type QueryClient } from "./client.ts";
import { createUnknownCommit, isServerLost, requireCommitted } from "./commit.ts";

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
