/** The import's own tables in the file of its outbox: the runs of the import, and the result of each row. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import type { SqliteDatabase } from "@loyalty-cards/issuing-outbox";
import type { IssuedRow, RejectedRow } from "./result-files.ts";

type Statement = ReturnType<SqliteDatabase["prepare"]>;

/**
 * `import_run` has one row: the number of the last run, hashes of its template and list, and in `results` the hashes of result files.
 * `import_rows` has the rows of the list; invalid ones have no user id. Their contents are erased when the import is complete.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS import_run (id INTEGER PRIMARY KEY CHECK (id = 1), run INTEGER NOT NULL, hash_key TEXT NOT NULL,
    source TEXT, template TEXT, results TEXT NOT NULL DEFAULT '');
  CREATE TABLE IF NOT EXISTS import_rows (user_id TEXT UNIQUE, run INTEGER NOT NULL, line INTEGER NOT NULL, state TEXT NOT NULL,
    hash TEXT, raw TEXT, code TEXT, reason TEXT, key TEXT, card_id TEXT);
  CREATE INDEX IF NOT EXISTS import_rejected ON import_rows (line) WHERE state IN ('rejected', 'unknown');`;

const pageSize = 1_000;

type RowState = "waiting" | "issued" | "rejected" | "unknown";
type Value = string | number | null;

/** What must be the same in all runs of an import. */
export interface RunDescription {
  template: string;
  /** The list and its mapping. */
  source: string;
}

interface RunRow extends Record<keyof RunDescription, string | null> {
  run: number;
  hash_key: string;
}

/** Everything that writes is called in a transaction of the outbox. */
export class ImportTables {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, Statement>();
  #hashKey = "";
  #run = 0;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    database.exec(tables);
  }

  /** Begins a run. @returns what differs from the earlier runs and prevents this one; undefined when nothing does. */
  begin(description: RunDescription): keyof RunDescription | undefined {
    const hashKey = randomBytes(32).toString("base64url");
    this.#execute(
      "INSERT INTO import_run (id, run, hash_key) VALUES (1, 0, ?) ON CONFLICT DO NOTHING",
      hashKey,
    );
    const [row] = this.#select<RunRow>("SELECT * FROM import_run") as [RunRow];
    const { template, source } = description;
    const own = { template: hashText(template), source: hashText(source) };
    const isUsed = this.#select("SELECT 1 FROM import_rows WHERE user_id IS NOT NULL LIMIT 1").length > 0;
    for (const name of ["template", "source"] as const) if (isUsed && row[name] !== own[name]) return name;
    this.#run = row.run + 1;
    this.#hashKey = row.hash_key;
    this.#execute(
      "UPDATE import_run SET run = ?, source = ?, template = ?",
      ...[this.#run, own.source, own.template],
    );
    return undefined;
  }

  /** Returns the hash by which an edited request is recognized. */
  hash(request: object): string {
    return createHmac("sha256", this.#hashKey).update(JSON.stringify(request)).digest("base64url");
  }

  /** @returns undefined when the user has no row; the hash is null when the import of the row is complete. */
  find(userId: string): { hash: string | null } | undefined {
    return this.#select<{ hash: string | null }>("SELECT hash FROM import_rows WHERE user_id = ?", userId)[0];
  }

  put(row: { userId: string; line: number; state: RowState; hash: string; raw: string }): void {
    const { userId, line, state, hash, raw } = row;
    this.#execute(
      `INSERT INTO import_rows (user_id, run, line, state, hash, raw) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (user_id) DO UPDATE SET run = excluded.run, line = excluded.line, state = excluded.state, hash = excluded.hash,
         raw = excluded.raw`,
      ...[userId, this.#run, line, state, hash, state === "issued" ? null : raw],
    );
  }

  /** Stores a rejected row, which is not in the outbox. */
  putRejected({ line, raw, code, reason }: Omit<RejectedRow, "key">): void {
    this.#execute(
      "INSERT INTO import_rows (run, line, state, raw, code, reason) VALUES (?, ?, 'rejected', ?, ?, ?)",
      ...[this.#run, line, raw, code, toLine(reason)],
    );
  }

  recordIssued(userId: string, cardId = ""): void {
    const sql = "UPDATE import_rows SET state = 'issued', card_id = ?, raw = NULL WHERE user_id = ?";
    this.#execute(sql, cardId, userId);
  }

  /** Records why a row of the outbox has no card. */
  record(userId: string, state: RowState, code: string, reason: string, key: string): void {
    const sql = "UPDATE import_rows SET state = ?, code = ?, reason = ?, key = ? WHERE user_id = ?";
    this.#execute(sql, state, code, toLine(reason), key, userId);
  }

  remove(userId: string): void {
    this.#execute("DELETE FROM import_rows WHERE user_id = ?", userId);
  }

  /** Counts the rows of this run. */
  count(): Record<RowState, number> {
    const counts = { waiting: 0, issued: 0, rejected: 0, unknown: 0 };
    const sql = "SELECT state, count(*) AS count FROM import_rows WHERE run = ? GROUP BY state";
    for (const { state, count } of this.#select<{ state: RowState; count: number }>(sql, this.#run))
      counts[state] = count;
    return counts;
  }

  /** Yields pages of the rows without a result that this run has not read. */
  readOthers(): Generator<{ userId: string }[]> {
    return this.#readPages(
      `SELECT rowid AS id, user_id AS "userId" FROM import_rows
       WHERE rowid > ? AND run < ? AND state = 'waiting' ORDER BY rowid LIMIT ?`,
      this.#run,
    );
  }

  /** Yields pages of the users who have a card. */
  readIssued(): Generator<IssuedRow[]> {
    return this.#readPages(
      `SELECT rowid AS id, user_id AS "userId", card_id AS "cardId" FROM import_rows
       WHERE rowid > ? AND run > ? AND card_id IS NOT NULL ORDER BY rowid LIMIT ?`,
      0,
    );
  }

  /** @param sql has three parameters: the id before the page, `run`, and the length of the page. */
  *#readPages<Row>(sql: string, run: number): Generator<Row[]> {
    for (let id = 0; ; ) {
      const page = this.#select<Row & { id: number }>(sql, id, run, pageSize);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      ({ id } = last);
    }
  }

  /** Yields pages of the rows without a card, in the order of the list. */
  *readRejected(): Generator<RejectedRow[]> {
    for (let line = -1, id = -1; ; ) {
      const page = this.#select<RejectedRow & { id: number }>(
        `SELECT rowid AS id, line, raw, code, reason, coalesce(key, '') AS key FROM import_rows
         WHERE state IN ('rejected', 'unknown') AND raw IS NOT NULL AND (line, rowid) > (?, ?) ORDER BY line, rowid LIMIT ?`,
        ...[line, id, pageSize],
      );
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      ({ line, id } = last);
    }
  }

  /** Whether the contents of a row without a card are only in the result file of an earlier run. */
  hasErased(): boolean {
    const sql = "SELECT 1 FROM import_rows WHERE state IN ('rejected', 'unknown') AND raw IS NULL LIMIT 1";
    return this.#select(sql).length > 0;
  }

  /** Removes the rows that this run has not read. */
  removeEarlier(): void {
    this.#execute("DELETE FROM import_rows WHERE run < ?", this.#run);
  }

  erase(): void {
    this.#execute(
      "UPDATE import_rows SET hash = NULL, raw = NULL, reason = NULL WHERE coalesce(hash, raw) IS NOT NULL",
    );
  }

  get results(): string[] {
    const [row] = this.#select<{ results: string }>("SELECT results FROM import_run");
    return row?.results.split(" ").filter((hash) => hash !== "") ?? [];
  }

  /** Keeps earlier hashes: a process can be killed before the new file is renamed. */
  addResult(hash: string): void {
    this.#execute("UPDATE import_run SET results = ?", [...this.results.slice(-7), hash].join(" "));
  }

  #execute(sql: string, ...values: Value[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  #select<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  #prepare(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

const hashText = (text: string) => createHash("sha256").update(text).digest("base64url");

/** Puts text on one line. Control characters are replaced too, because SQLite would end the text at a NUL. */
const toLine = (text: string) => text.replace(/[\s\p{Cc}]+/gu, " ");
