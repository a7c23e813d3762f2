/** Runs a query in the user's transaction: through pg, postgres, Prisma, Drizzle or Kysely. */
import { toHex } from "../format.ts";
import { withSafeMessage } from "../reporting.ts";

/** A transaction of `pg`: the client on which BEGIN ran. */
export interface PgTransaction {
  query(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }>;
}

/** A transaction of `postgres`: the argument of the callback of `sql.begin`. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never[]): PromiseLike<ArrayLike<unknown>>;
}

/** A transaction of Prisma: the argument of the callback of `$transaction`. */
export interface PrismaTransaction {
  $queryRawUnsafe<Result>(text: string, ...values: unknown[]): PromiseLike<Result>;
}

/** A transaction of Drizzle: the argument of the callback of `db.transaction`. */
export interface DrizzleTransaction {
  execute(text: string): PromiseLike<unknown>;
  rollback(): never;
}

/** A transaction of Kysely: the argument of the callback of `db.transaction().execute`. */
export interface KyselyTransaction {
  readonly isTransaction: true;
  executeQuery(query: never): PromiseLike<{ rows: unknown[] }>;
}

/** A transaction of pg, postgres, Prisma, Drizzle or Kysely. */
export type PostgresTransaction =
  | PgTransaction
  | PostgresJsTransaction
  | PrismaTransaction
  | DrizzleTransaction
  | KyselyTransaction;

/** A client of the same libraries, in a transaction or not. */
export type PostgresClient =
  | Exclude<PostgresTransaction, DrizzleTransaction | KyselyTransaction>
  | Pick<DrizzleTransaction, "execute">
  | Pick<KyselyTransaction, "executeQuery">;

/** Each `$1` must be followed by `::text`: a client that does not know the type of a parameter could send another type. */
export async function queryRows(
  client: PostgresClient,
  text: string,
  values: readonly (string | null)[],
): Promise<ArrayLike<unknown>> {
  if (hasMethod(client, "$queryRawUnsafe")) return client.$queryRawUnsafe(text, ...values);
  if (hasMethod(client, "executeQuery")) return (await client.executeQuery(toKysely(text, values))).rows;
  if (hasMethod(client, "unsafe")) return client.unsafe(text, [...values] as never[]);
  if (hasMethod(client, "query")) {
    const { rows } = await client.query(text, [...values]);
    if (Array.isArray(rows)) return rows;
    throw noTransaction(
      "its query returns no rows, as those of TypeORM and MikroORM: pass the client of pg below it",
    );
  }
  if (hasMethod(client, "execute")) {
    const result = await client.execute(inlineValues(text, values));
    // Drizzle returns a list with the driver `postgres`, and an object with `pg` and most others.
    return Array.isArray(result) ? result : (result as { rows: unknown[] }).rows;
  }
  throw noTransaction("it has none of query, unsafe, $queryRawUnsafe, execute, executeQuery");
}

/** Whether PostgreSQL ended with one of the codes. Drizzle and Prisma wrap the error of the driver. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, cause, meta } = error as { code?: string; cause?: unknown; meta?: { code?: string } };
  return codes.includes(code ?? "") || codes.includes(meta?.code ?? "") || hasCode(cause, ...codes);
}

const noTransaction = (reason: string) =>
  withSafeMessage(
    new TypeError(`This is not a transaction of pg, postgres, Prisma, Drizzle or Kysely: ${reason}.`),
  );

/**
 * @param need who needs which transaction, for the error message, such as `outbox.add needs the transaction that saves the user`.
 * @param consequence what would happen outside of a transaction, for the error message.
 * @throws {TypeError} for a pool, a database or an idle client, where these can be recognized.
 */
export function requireTransaction(
  client: PostgresTransaction,
  need: string,
  consequence: string,
): PostgresTransaction {
  const isPool = hasMethod(client, "begin") || hasMethod(client, "$connect") || "totalCount" in client;
  const isIdle = hasMethod(client, "getTransactionStatus") && client.getTransactionStatus() === "I";
  const isDrizzle = hasMethod(client, "execute") && hasMethod(client, "select");
  const isKyselyOutside =
    hasMethod(client, "executeQuery") && (client.isTransaction as boolean | undefined) === false;
  if (!isPool && !isIdle && !isKyselyOutside && (!isDrizzle || hasMethod(client, "rollback"))) return client;
  throw withSafeMessage(
    new TypeError(
      `${need}, not a pool, a database or a client without BEGIN. Pass the client after BEGIN, or the argument of the callback of sql.begin, $transaction or transaction: ${consequence}.`,
    ),
  );
}

function hasMethod<Name extends string>(
  client: object,
  name: Name,
): client is Record<Name, (...values: never[]) => unknown> {
  return typeof Reflect.get(client, name) === "function";
}

/** The result of Kysely's `CompiledQuery.raw`, without importing Kysely. */
function toKysely(sql: string, parameters: readonly (string | null)[]): never {
  const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
  return { sql, parameters, query, queryId: { queryId: "loyalty-cards" } } as never;
}

/** Parameters need an import of Drizzle, so the values become part of the SQL text: as hexadecimal digits, which cannot end a literal. */
function inlineValues(text: string, values: readonly (string | null)[]): string {
  return text.replace(/\$(\d+)::text/g, (_whole, number: string) => {
    const value = values[Number(number) - 1] ?? null;
    if (value === null) return "NULL::text";
    return `convert_from(decode('${toHex(new TextEncoder().encode(value))}', 'hex'), 'UTF8')`;
  });
}
