/** Operations on the tables, written once for SQLite and PostgreSQL. */

import { type Row, toNumber, type Value } from "@loyalty-cards/internal/jobs/statement";

export {
  type Row,
  runAsync,
  runSync,
  toNumber,
  toOptionalNumber,
  toOptionalText,
  type Value,
} from "@loyalty-cards/internal/jobs/statement";

/*
 * An operation is a generator that yields its statements. SQLite executes them synchronously, so that `add` is part of a synchronous
 * transaction of the user; PostgreSQL returns a promise for each. The text of a statement is PostgreSQL's; `toSqlite` adapts it.
 */

/** One step of an operation. */
export type Step =
  /** A statement of PostgreSQL. Each parameter has its type: `$1::text`, `$2::text::bigint`. */
  | { sql: string; values: Value[] }
  /** The user's callback, with the transaction. */
  | { call: (transaction: never) => unknown }
  /** The current time of the database, in the column `now_ms`. */
  | "now";

export type Operation<Result> = Generator<Step, Result, Row[]>;

/** Runs one statement. @returns its rows. */
export function* query(sql: string, ...values: Value[]): Operation<Row[]> {
  return yield { sql, values };
}

/** Returns the current time of the database in milliseconds. */
export function* getNow(): Operation<number> {
  const [row] = yield "now";
  return toNumber(row?.["now_ms"]);
}

/** Runs the callback of the user. Its error ends the operation. */
export function* callBack(call: (transaction: never) => unknown): Operation<void> {
  yield { call };
}

/** Returns `($1::text, $2::text::bigint), ($3::text, $4::text::bigint)` for two rows. @param before how many parameters precede them. */
export function formatRows(types: readonly string[], rows: number, before = 0): string {
  const row = (index: number) =>
    `(${types.map((type, column) => formatParameter(before + index * types.length + column + 1, type)).join(", ")})`;
  return Array.from({ length: rows }, (_, index) => row(index)).join(", ");
}

/** Returns `$3::text::bigint, $4::text::bigint` for two values, from the parameter `first`. */
export function formatList(type: string, count: number, first: number): string {
  return Array.from({ length: count }, (_, index) => formatParameter(first + index, type)).join(", ");
}

const formatParameter = (number: number, type: string) =>
  type === "text" ? `$${number}::text` : `$${number}::text::${type}`;

/**
 * Adapts a statement to SQLite: without types, with one `?` for each use of a parameter, and without the clause that skips rows of
 * other transactions, because SQLite has one writer.
 */
export function toSqlite(sql: string): { sql: string; order: readonly number[] } {
  const order: number[] = [];
  const text = sql.replace(/\$(\d+)(::\w+)*/g, (_whole, number: string) => {
    order.push(Number(number) - 1);
    return "?";
  });
  return { sql: text.replace(/ FOR UPDATE[\w ]*/g, ""), order };
}
