/**
 * Statements on tables, written once for SQLite, which executes a generator of statements
 * synchronously, and PostgreSQL, which returns a promise for each.
 */

export type Value = string | number | null;

/** The values of the parameters of a statement, by name. */
export type Values = Readonly<Record<string, Value>>;

/**
 * Integers of 8 bytes arrive as number, text or bigint, whatever the parsers of the driver are: see
 * {@link toNumber}. Some libraries parse text that is JSON: see {@link toOptionalText}.
 */
export type Row = Record<string, string | number | bigint | object | null>;

/**
 * A statement with named parameters: `:topic` is text, `:id::bigint` has its type. `:now` is the
 * time of the database in milliseconds.
 *
 * `:inTransaction` is a condition: whether the transaction is still the one that the user passed. A
 * statement with it returns rows where it had an effect. Without rows, the database is asked.
 */
export interface Statement {
  sql: string;
  values: Values;
  hasRows: boolean;
}

export type Step =
  | Statement
  /**
   * A function of the user, with the transaction, and the name of its option. Its error ends the
   * statements.
   */
  | { call: (transaction: never) => unknown; name: string };

export type Statements<Result> = Generator<Step, Result, Row[]>;

/**
 * Runs a statement that returns rows.
 * @returns its rows.
 */
export function* query(sql: string, values: Values = {}): Statements<Row[]> {
  return yield { sql, values, hasRows: true };
}

/** Runs a statement that returns no rows. */
export function* execute(sql: string, values: Values = {}): Statements<void> {
  yield { sql, values, hasRows: false };
}

/** A colon, a name, and perhaps a type. Two colons before a name are a cast. */
const parameters = /(?<!:):([a-z]\w*)(?:::(\w+))?/gi;

/** @param format returns what a database has instead of `:name::type`. */
export const replaceParameters = (
  sql: string,
  format: (name: string, type: string) => string,
): string => sql.replace(parameters, (_whole, name: string, type = "text") => format(name, type));

/** @throws when a statement has a parameter without a value. */
export function getValue(values: Values, name: string): Value {
  const value = values[name];
  if (value !== undefined) return value;
  throw new Error(`The statement has no value for :${name}.`);
}

/** The types of parameters, by name. */
export type Types = Readonly<Record<string, string>>;

/**
 * Returns `(:id::bigint, :body::text)`.
 * @param suffix stands after each name.
 */
export const formatRow = (types: Types, suffix = ""): string =>
  `(${Object.entries(types)
    .map(([name, type]) => `:${name}${suffix}::${type}`)
    .join(", ")})`;

/** Returns `(:id_0::bigint, :body_0::text), (:id_1::bigint, :body_1::text)` for two rows. */
export const formatRows = (types: Types, rows: number): string =>
  Array.from({ length: rows }, (_, row) => formatRow(types, `_${row}`)).join(", ");

/** The values of the parameters of {@link formatRows}. */
export function toRowValues(rows: readonly Values[]): Values {
  const values: Record<string, Value> = {};
  for (const [index, row] of rows.entries())
    for (const [name, value] of Object.entries(row)) values[`${name}_${index}`] = value;
  return values;
}

export const toNumber = (value: Row[string] | undefined): number => Number(value);

export const toOptionalNumber = (value: Row[string] | undefined): number | undefined =>
  value === null || value === undefined ? undefined : Number(value);

/**
 * Writes JSON again that a library parsed: to the same text, because JSON.stringify wrote what is
 * stored.
 */
export function toOptionalText(value: Row[string] | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
