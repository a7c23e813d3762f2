/** Operations on tables, written once for SQLite, which executes a generator of statements synchronously, and PostgreSQL, which returns a promise for each. */

export type Value = string | number | null;

/** Integers of 8 bytes arrive as number, text or bigint, whatever the parsers of the driver are: see {@link toNumber}. */
export type Row = Record<string, string | number | bigint | null>;

export type Step =
  /** A statement of PostgreSQL: each parameter has its type (`$1::text`, `$2::text::bigint`), and `:now` is the time of the database. */
  | { sql: string; values: Value[] }
  /** A function of the user, with the transaction, and the name of its option. Its error ends the operation. */
  | { call: (transaction: never) => unknown; name: string };

export type Operation<Result> = Generator<Step, Result, Row[]>;

/** Runs one statement. @returns its rows. */
export function* query(sql: string, ...values: Value[]): Operation<Row[]> {
  return yield { sql, values };
}

export const toNumber = (value: Row[string] | undefined): number => Number(value);

export const toOptionalNumber = (value: Row[string] | undefined): number | undefined =>
  value === null || value === undefined ? undefined : Number(value);

export const toOptionalText = (value: Row[string] | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);

/** Returns `($1::text, $2::text::bigint), ($3::text, $4::text::bigint)` for two rows. */
export function formatRows(types: readonly string[], rows: number): string {
  const cell = (type: string, number: number) => `$${number}::text${type === "text" ? "" : `::${type}`}`;
  const row = (first: number) => `(${types.map((type, column) => cell(type, first + column)).join(", ")})`;
  return Array.from({ length: rows }, (_, index) => row(index * types.length + 1)).join(", ");
}
