/**
 * Statements on tables, written once for SQLite, which executes a generator of statements
 * synchronously, and PostgreSQL, which returns a promise for each.
 */

export type Value = string | number | null;

/** The values of the parameters of a statement, by name. */
export type Values = Readonly<Record<string, Value>>;

/**
 * Integers of 8 bytes arrive as number, text or bigint, whatever the parsers of the driver are: see
 * {@link toNumber}.
 */
export type Row = Record<string, string | number | bigint | null>;

export type Step =
  /**
   * A statement with named parameters, such as `:topic`. Two names have no value: `:now` is the
   * time of the database in milliseconds, and `:inTransaction` a condition that is false when the
   * statement is not in the user's transaction. It must have RETURNING: without rows,
   * `enterTransaction` asks whether the transaction is still the same.
   */
  | { sql: string; values: Values }
  /**
   * A function of the user, with the transaction, and the name of its option. Its error ends the
   * statements.
   */
  | { call: (transaction: never) => unknown; name: string };

export type Statements<Result> = Generator<Step, Result, Row[]>;

/**
 * Runs one statement.
 * @returns its rows.
 */
export function* query(sql: string, values: Values = {}): Statements<Row[]> {
  return yield { sql, values };
}

/** The types of all parameters that are numbers. The others are text. */
const numberTypes: Readonly<Record<string, "bigint" | "integer">> = {
  afterId: "bigint",
  delayMs: "bigint",
  fromMs: "bigint",
  id: "bigint",
  leaseMs: "bigint",
  limit: "integer",
  pauseMs: "bigint",
  probe: "integer",
  rank: "integer",
  requestedMs: "bigint",
  retentionMs: "bigint",
  startedAtMs: "bigint",
};

/** The number of the row at the end of a name: see {@link formatRows}. */
const rowNumber = /_\d+$/;

/** @returns the type of a parameter in PostgreSQL. */
export const getType = (name: string): "text" | "bigint" | "integer" =>
  numberTypes[name.replace(rowNumber, "")] ?? "text";

/** A colon and a name. Two colons are a cast. */
const parameters = /(?<!:):([a-z]\w*)/gi;

/** @param format returns what a database has instead of `:name`. */
export const replaceParameters = (sql: string, format: (name: string) => string): string =>
  sql.replace(parameters, (_whole, name: string) => format(name));

/** @throws when a statement has a parameter without a value. */
export function getValue(values: Values, name: string): Value {
  const value = values[name];
  if (value !== undefined) return value;
  throw new Error(`The statement has no value for :${name}.`);
}

/** Returns `(:id_0, :body_0), (:id_1, :body_1)` for the names `id` and `body` and two rows. */
export function formatRows(names: readonly string[], rows: number): string {
  const formatRow = (row: number) => `(${names.map((name) => `:${name}_${row}`).join(", ")})`;
  return Array.from({ length: rows }, (_, row) => formatRow(row)).join(", ");
}

/** The values of the parameters of {@link formatRows}. */
export function toRowValues(rows: readonly Values[]): Values {
  const entries = rows.flatMap((row, index) =>
    Object.entries(row).map(([name, value]) => [`${name}_${index}`, value] as const),
  );
  return Object.fromEntries(entries);
}

export const toNumber = (value: Row[string] | undefined): number => Number(value);

export const toOptionalNumber = (value: Row[string] | undefined): number | undefined =>
  value === null || value === undefined ? undefined : Number(value);

export const toOptionalText = (value: Row[string] | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);
