/** Sends one statement through whichever client holds the user's transaction, and gives its rows. */

/** A transaction of `pg`: the client on which BEGIN ran. */
export interface PgTransaction {
  query(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }>;
}

/** A transaction of `postgres`: what `sql.begin` hands to its callback. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never[]): PromiseLike<ArrayLike<unknown>>;
}

/** A transaction of Prisma: what `$transaction(async (tx) => …)` hands over. */
export interface PrismaTransaction {
  $queryRawUnsafe<Result>(text: string, ...values: unknown[]): PromiseLike<Result>;
}

/** A transaction of Drizzle: what `db.transaction(async (tx) => …)` hands over. */
export interface DrizzleTransaction {
  execute(text: string): PromiseLike<unknown>;
  rollback(): never;
}

/** A transaction of Kysely: what `db.transaction().execute(async (trx) => …)` hands over. */
export interface KyselyTransaction {
  readonly isTransaction: true;
  executeQuery(query: never): PromiseLike<{ rows: unknown[] }>;
}

/** The transaction in which the effect is written: of pg, postgres, Prisma, Drizzle or Kysely. */
export type PostgresTransaction =
  | PgTransaction
  | PostgresJsTransaction
  | PrismaTransaction
  | DrizzleTransaction
  | KyselyTransaction;

/** The same clients outside a transaction, for what needs none. */
export type PostgresClient =
  | Exclude<PostgresTransaction, DrizzleTransaction | KyselyTransaction>
  | Pick<DrizzleTransaction, "execute">
  | Pick<KyselyTransaction, "executeQuery">;

/** Each `$1` must be followed by its type: a client that does not know it could send the value as another. */
export async function rowsOf(
  client: PostgresClient,
  text: string,
  values: string[],
): Promise<ArrayLike<unknown>> {
  if (isOf(client, "$queryRawUnsafe")) return (client as PrismaTransaction).$queryRawUnsafe(text, ...values);
  if (isOf(client, "executeQuery"))
    return (await (client as KyselyTransaction).executeQuery(compiled(text, values))).rows;
  if (isOf(client, "unsafe")) return (client as PostgresJsTransaction).unsafe(text, values as never[]);
  if (isOf(client, "query")) return (await (client as PgTransaction).query(text, values)).rows;
  if (isOf(client, "execute"))
    return rowsOfDrizzle(await (client as DrizzleTransaction).execute(inlined(text, values)));
  throw new TypeError(
    "This is no transaction of pg, postgres, Prisma, Drizzle or Kysely: it has none of query, unsafe, $queryRawUnsafe, execute, executeQuery.",
  );
}

/**
 * Outside a transaction an event would be marked first and handled later: if that fails, it is lost.
 * @throws {TypeError} for a pool, a database or an idle client, as far as these can be told.
 */
export function checkedTransaction(client: PostgresTransaction): PostgresTransaction {
  const isPool = isOf(client, "begin") || isOf(client, "$connect") || "totalCount" in client;
  const isIdle =
    isOf(client, "getTransactionStatus") && (client as unknown as PgStatus).getTransactionStatus() === "I";
  const isDrizzleOutside = isOf(client, "execute") && isOf(client, "select") && !isOf(client, "rollback");
  const isKyselyOutside =
    isOf(client, "executeQuery") && (client as { isTransaction?: boolean }).isTransaction === false;
  if (!isPool && !isIdle && !isDrizzleOutside && !isKyselyOutside) return client;
  throw new TypeError(
    "This needs the transaction in which the event has its effect, not a pool, a database or a client without BEGIN: marked outside of it, an event is lost when its handler fails.",
  );
}

interface PgStatus {
  getTransactionStatus(): string | null;
}

function isOf(client: object, name: string): boolean {
  return typeof Reflect.get(client, name) === "function";
}

/** What Kysely's own `CompiledQuery.raw` makes, without importing Kysely. */
function compiled(sql: string, parameters: string[]): never {
  const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
  return { sql, parameters, query, queryId: { queryId: "webhook-inbox" } } as never;
}

/** Drizzle takes text only, unless one imports it: so values travel as hexadecimal digits, which cannot end a literal. */
function inlined(text: string, values: string[]): string {
  return text.replace(/\$(\d)::text/g, (_whole, number: string) => {
    const bytes = new TextEncoder().encode(values[Number(number) - 1]);
    const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `convert_from(decode('${digits}', 'hex'), 'UTF8')`;
  });
}

/** A list with the driver `postgres`, an object with `pg` and most others. */
function rowsOfDrizzle(result: unknown): ArrayLike<unknown> {
  return Array.isArray(result) ? result : (result as { rows: unknown[] }).rows;
}
