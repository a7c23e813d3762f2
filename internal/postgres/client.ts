/**
 * Sends a query through the user's client: pg, postgres.js, Prisma, or anything with
 * `query(text, values)`; and asks PostgreSQL whether the client is in a transaction.
 */
import { createTypeError } from "../errors.ts";

/** The value of a parameter. PostgreSQL converts the text: `$1::text::bigint`. */
type Parameter = string | null;

/** A client of `pg`, or any other object with this method. */
export interface QueryClient {
  query(text: string, values: Parameter[]): PromiseLike<{ rows: unknown[] }>;
}

/** The `sql` of postgres.js. */
export interface PostgresJsClient {
  unsafe(text: string, values: never[]): PromiseLike<ArrayLike<unknown>>;
}

/** A client of Prisma. */
interface PrismaClient {
  $queryRawUnsafe<Result>(text: string, ...values: Parameter[]): PromiseLike<Result>;
}

/** A client, in a transaction or not. */
export type PostgresClient = QueryClient | PostgresJsClient | PrismaClient;

/**
 * A client in a transaction: that of `pg` after BEGIN, the argument of the callback of `sql.begin`
 * (postgres.js) or `$transaction` (Prisma), `fromDrizzle(tx, sql)`,
 * `fromKysely(tx, CompiledQuery)`, or any object whose `query(text, values)` resolves to
 * `{ rows }`.
 */
export type PostgresTransaction = PostgresClient;

/**
 * A row of a result. The names of its columns are one word in lower case, because clients can
 * rename others.
 */
export type PostgresRow = Record<string, unknown>;

/**
 * Each `$1` must be followed by `::text`: a client that does not know the type of a parameter could
 * send another type.
 * @throws {TypeError} for an object that is none of the clients.
 */
export async function queryRows(
  client: PostgresClient,
  text: string,
  values: readonly Parameter[],
): Promise<PostgresRow[]> {
  const rows = await sendQuery(client, text, values);
  if (!Array.isArray(rows)) throw createTypeError(noRows);
  return rows.map(readRow);
}

async function sendQuery(
  client: PostgresClient,
  text: string,
  values: readonly Parameter[],
): Promise<unknown> {
  if (hasMethod(client, "$queryRawUnsafe")) return client.$queryRawUnsafe(text, ...values);
  if (hasMethod(client, "unsafe"))
    return Array.from(await client.unsafe(text, [...values] as never[]));
  if (!hasMethod(client, "query")) throw createTypeError(noClient);
  return (await client.query(text, [...values])).rows;
}

/** A library can write `Id` for `id`. */
const readRow = (row: object): PostgresRow =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));

/**
 * @throws {TypeError} for a value that sends no statements, and for a Client of pg that is not
 * connected, whose queries would wait for ever.
 */
export function requireClient(caller: string, client: PostgresClient): void {
  const { _connected, _connecting }: Record<string, unknown> = Object(client); // pg sets these
  const isWaiting = _connected === false && _connecting === false;
  const canSend = ["query", "unsafe", "$queryRawUnsafe"].some((name) => hasMethod(client, name));
  if (canSend && !isWaiting) return;
  const state = isWaiting ? " This Client is not connected: await client.connect()." : "";
  throw createTypeError(
    `${caller} takes a Pool or connected Client of pg, the sql of postgres.js, or a client of Prisma: ${caller}(pool).${state}`,
  );
}

const noClient =
  "The first argument is not a client or transaction of pg, postgres.js or Prisma. Pass the transaction, then the entry or event: with Drizzle fromDrizzle(tx, sql), with Kysely fromKysely(tx, CompiledQuery), else see https://loyalty-cards.github.io/loyalty-cards/guides/outbox#postgresql-libraries.";
const noRows =
  "The query of this transaction does not resolve to { rows }, like that of TypeORM. Pass an object { query: async (text, values) => ({ rows }) } that calls it.";

export function hasMethod<Name extends string>(
  value: unknown,
  name: Name,
): value is Record<Name, (...values: never[]) => unknown> {
  return typeof Reflect.get(Object(value), name) === "function";
}

/** Who needs which transaction, for the error message. */
export interface TransactionNeed {
  /** What needs it, such as `outbox.add needs the transaction that saves the user`. */
  need: string;
  /** What would happen outside of a transaction. */
  consequence: string;
}

/** A transaction of the user. */
export interface UserTransaction {
  /**
   * Its id, `txid_current()` as text. Outside of a transaction each statement has an id of its own:
   * with a pool, with a client without BEGIN, after COMMIT. So a statement with the id as a
   * condition has an effect in this transaction only.
   */
  id: string;
  /**
   * Call it after a statement without effect, which found nothing, or was not in the transaction.
   * @throws {TypeError} when the client is not in this transaction.
   */
  requireSame(): Promise<void>;
}

/** Asks PostgreSQL for the id of the user's transaction. */
export async function enterTransaction(
  client: PostgresTransaction,
  { need, consequence }: TransactionNeed,
): Promise<UserTransaction> {
  const id = await readTransactionId(client);
  return {
    id,
    async requireSame() {
      if ((await readTransactionId(client)) === id) return;
      throw createTypeError(
        `${need}, not a pool, a database or a client without BEGIN. Pass the client after BEGIN, or the argument of the callback of sql.begin, $transaction or transaction, and await the call before the transaction ends: ${consequence}.`,
      );
    },
  };
}

/** Reads the id as text, because it has 8 bytes. */
async function readTransactionId(client: PostgresClient): Promise<string> {
  const [row] = await queryRows(client, "SELECT txid_current()::text AS id", []);
  if (row === undefined) throw createTypeError(noRows);
  const id = String(row["id"]);
  if (/^\d+$/.test(id)) return id;
  throw createTypeError(
    `The column "id" of a result is "${id}", not the id of the transaction: a plugin or transform of your database library changed the result. Pass a transaction without it.`,
  );
}

/** Whether PostgreSQL ended a statement or COMMIT with one of the codes (SQLSTATE). */
export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  codes.includes(findCode(error) ?? "");

/** How deep errors are wrapped: twice, around that of Prisma. */
const maxDepth = 6;

/**
 * Finds the SQLSTATE in the error of a client. Drizzle has the driver's error as `cause`; Prisma
 * has the code in `meta`, or in the `cause` of `meta.driverAdapterError`.
 */
function findCode(error: unknown, depth = maxDepth): string | undefined {
  if (depth === 0 || typeof error !== "object" || error === null) return undefined;
  const { code, originalCode, meta, driverAdapterError, cause } = error as Record<string, unknown>;
  if (code === prismaConflict) return "40001";
  if (isSqlState(code)) return code;
  if (isSqlState(originalCode)) return originalCode;
  for (const inner of [meta, driverAdapterError, cause]) {
    const found = findCode(inner, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const prismaConflict = "P2034";
/** Prisma's own codes begin with P1 to P6, those of PL/pgSQL with P0. */
const isSqlState = (code: unknown): code is string =>
  typeof code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) && !/^P[1-9]/.test(code);
