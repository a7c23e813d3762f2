/** A pg transaction that commits all of its work or nothing, also when the connection closes. */
import type pg from "pg";

export async function inTransaction<Result>(
  pool: pg.Pool,
  work: (transaction: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool);
  let isCommitted = false;
  try {
    await client.query("BEGIN");
    const result = await work(client);
    const { command } = await client.query("COMMIT");
    // PostgreSQL responds ROLLBACK when a query has failed and the work ignored it.
    if (command !== "COMMIT") throw new Error(`COMMIT was a ${command}.`);
    isCommitted = true;
    return result;
  } finally {
    client.release(!isCommitted); // closing the connection rolls back
    client.off("error", ignore);
  }
}

/**
 * When a connection is closed, the query that runs rejects, and pg emits an error,
 * which ends the process if nothing listens. With a callback, because a connection
 * can be closed in the packet that opens it.
 */
const connect = (pool: pg.Pool) =>
  new Promise<pg.PoolClient>((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error);
      client.on("error", ignore);
      resolve(client);
    });
  });
const ignore = () => {};
