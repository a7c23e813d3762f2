/** Operations on tables, written once for SQLite, which executes a generator of statements synchronously, and PostgreSQL, which returns a promise for each. */

export type Value = string | number | null;

/** Integers of 8 bytes arrive as number, text or bigint, whatever the parsers of the driver are: see {@link toNumber}. */
export type Row = Record<string, string | number | bigint | null>;

export type Step =
  /** A statement of PostgreSQL: each parameter has its type (`$1::text`, `$2::text::bigint`), and `:now` is the time of the database. */
  | { sql: string; values: Value[] }
  /** A function of the user, with the transaction. */
  | { call: (transaction: never) => unknown };

export type Operation<Result> = Generator<Step, Result, Row[]>;

/** Runs one statement. @returns its rows. */
export function* query(sql: string, ...values: Value[]): Operation<Row[]> {
  return yield { sql, values };
}

/** Runs a function of the user. Its error ends the operation. */
export function* callBack(call: (transaction: never) => unknown): Operation<void> {
  yield { call };
}

/** Executes an operation with a function that executes a step synchronously. */
export function runSync<Result, AStep = Step>(
  operation: Generator<AStep, Result, Row[]>,
  execute: (step: AStep) => Row[],
): Result {
  let next = operation.next();
  while (!next.done) next = operation.next(execute(next.value));
  return next.value;
}

/** Executes an operation with a function that returns a promise for each step. */
export async function runAsync<Result, AStep = Step>(
  operation: Generator<AStep, Result, Row[]>,
  execute: (step: AStep) => Promise<Row[]>,
): Promise<Result> {
  let next = operation.next();
  while (!next.done) next = operation.next(await execute(next.value));
  return next.value;
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

const now = /(?<!:):now\b/g;

/**
 * Adapts a statement to SQLite, which has no types of parameters, one `?` for each use of a value, and one writer, so that no rows of
 * other transactions are skipped.
 * @returns the text, and for each `?` the index of its value; -1 is the time.
 */
export function toSqlite(sql: string): { sql: string; order: readonly number[] } {
  const order: number[] = [];
  const text = sql.replace(/\$(\d+)(?:::\w+)*|(?<!:):now\b/g, (_whole, number: string | undefined) => {
    order.push(Number(number ?? 0) - 1);
    return "?";
  });
  return { sql: text.replace(/ FOR UPDATE[\w ]*/g, ""), order };
}

/** Adapts a statement to PostgreSQL. @param nowMs the time, for tests; default: the time of the database. */
export function toPostgres({ sql, values }: { sql: string; values: readonly Value[] }, nowMs?: number) {
  const texts = values.map((value) => (value === null ? null : String(value)));
  if (!sql.includes(":now")) return { sql, values: texts };
  if (nowMs === undefined)
    return {
      sql: sql.replace(now, "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"),
      values: texts,
    };
  return { sql: sql.replace(now, `$${texts.length + 1}::text::bigint`), values: [...texts, String(nowMs)] };
}
