/**
 * Adapters for libraries whose transactions have no `query(text, values)`: Drizzle and Kysely. The
 * program passes what builds a query of its library, so that nothing is imported from it here.
 */
import { createTypeError } from "../errors.ts";
import { hasMethod, type PostgresRow, type QueryClient } from "./client.ts";

/** A database or transaction of Drizzle. */
export interface DrizzleTransaction {
  execute(query: unknown): PromiseLike<unknown>;
}

/** The `sql` of `drizzle-orm`. */
export interface DrizzleSql {
  raw(text: string): unknown;
  param(value: unknown): unknown;
  join(chunks: unknown[]): unknown;
}

/** A database or transaction of Kysely. */
export interface KyselyTransaction {
  executeQuery(query: unknown): PromiseLike<{ rows: unknown[] }>;
}

/** The `CompiledQuery` of `kysely`. */
export interface KyselyCompiledQuery {
  raw(text: string, values: unknown[]): unknown;
}

/**
 * Adapts a transaction of Drizzle.
 * @param tx the argument of the callback of `db.transaction`.
 * @param sql the `sql` of `drizzle-orm`.
 * @example
 * ```ts
 * import { fromDrizzle, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
 * import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
 * import { sql } from "drizzle-orm";
 * import type { NodePgDatabase } from "drizzle-orm/node-postgres";
 *
 * export const apply = (db: NodePgDatabase, event: WebhookEvent) =>
 *   db.transaction(async (tx) => {
 *     if (!(await markProcessed(fromDrizzle(tx, sql), event))) return; // processed before
 *     await tx.execute(sql`UPDATE counts SET events = events + 1`);
 *   });
 * ```
 */
export function fromDrizzle(tx: DrizzleTransaction, sql: DrizzleSql): QueryClient {
  if (typeof tx?.execute !== "function" || typeof sql?.raw !== "function")
    throw createTypeError(
      "fromDrizzle takes a transaction of Drizzle, then sql: fromDrizzle(tx, sql).",
    );
  return {
    async query(text, values) {
      // The parts are text and the number of a parameter in turn.
      const parts = text.split(/\$(\d+)/);
      const chunks = parts.map((part, index) =>
        index % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1]),
      );
      const result = await tx.execute(sql.join(chunks));
      // The result is a list with the driver `postgres`, and an object with `pg` and most others.
      return Array.isArray(result) ? { rows: result } : (result as { rows: PostgresRow[] });
    },
  };
}

/**
 * Adapts a transaction of Kysely.
 * @param tx the argument of the callback of `db.transaction().execute`.
 * @param CompiledQuery that of `kysely`.
 * @example
 * ```ts
 * import { fromKysely, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
 * import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
 * import { CompiledQuery, type Kysely, sql } from "kysely";
 *
 * export const apply = (db: Kysely<unknown>, event: WebhookEvent) =>
 *   db.transaction().execute(async (tx) => {
 *     if (!(await markProcessed(fromKysely(tx, CompiledQuery), event))) return; // processed before
 *     await sql`UPDATE counts SET events = events + 1`.execute(tx);
 *   });
 * ```
 */
export function fromKysely(tx: KyselyTransaction, CompiledQuery: KyselyCompiledQuery): QueryClient {
  if (typeof tx?.executeQuery !== "function" || typeof CompiledQuery?.raw !== "function")
    throw createTypeError(
      "fromKysely takes a transaction of Kysely, then CompiledQuery: fromKysely(tx, CompiledQuery).",
    );
  // Plugins change results: ParseJSONResultsPlugin parses the text of a form.
  const plain = hasMethod(tx, "withoutPlugins") ? (tx.withoutPlugins() as typeof tx) : tx;
  return {
    query: (text, values) => plain.executeQuery(CompiledQuery.raw(text, values)),
  };
}
