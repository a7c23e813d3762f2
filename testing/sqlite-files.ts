/** SQLite databases that report their statements, and files whose log another process deletes. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";

/** A statement of `better-sqlite3`. */
interface BetterStatement<Values extends unknown[]> {
  run(...values: Values): { changes: number };
  get(...values: Values): unknown;
  all(...values: Values): unknown[];
}

/** A database of `better-sqlite3`, as TypeScript 5 reads its types: a statement is of one of two. */
export interface BetterSqlite {
  exec(sql: string): this;
  // biome-ignore lint/complexity/noBannedTypes: as they are
  prepare(sql: string): BetterStatement<[{}]> | BetterStatement<unknown[]>;
  close(): this;
}

/**
 * For the option `open`.
 * @param onStatement gets each statement before it runs.
 */
export const openWatched =
  (onStatement: (sql: string) => void, open = openSqlite): OpenSqlite =>
  (file) => {
    const database = open(file);
    const members = database as { inTransaction?: unknown; isTransaction?: unknown };
    const watched = {
      get inTransaction() {
        return members.inTransaction ?? members.isTransaction;
      },
      close: () => database.close(),
      exec(sql: string) {
        onStatement(sql);
        return database.exec(sql);
      },
      prepare(sql: string) {
        const statement = database.prepare(sql);
        const watch = (method: "run" | "get" | "all") =>
          ((...values: never[]) => {
            onStatement(sql);
            return statement[method](...values);
          }) as never;
        return { run: watch("run"), get: watch("get"), all: watch("all") };
      },
    };
    return watched;
  };

/**
 * Another process opens the file, runs a statement that returns rows, and closes it. With libsql,
 * because SQLite 3.51 no longer deletes a log that others use.
 * @throws what it wrote to its standard error, when it fails.
 */
export function useElsewhere(file: string, sql = "SELECT * FROM sqlite_master"): void {
  const script = `
    const Database = require("libsql");
    const database = new Database(${JSON.stringify(file)});
    database.prepare(${JSON.stringify(sql)}).all();
    database.close();`;
  const { stderr, status } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

/** Drops the locks of this process, as a backup would, and lets another one delete the log. */
export function loseWal(file: string): void {
  copyFileSync(file, `${file}-copy`);
  useElsewhere(file);
  if (existsSync(`${file}-wal`)) throw new Error("The other process has not deleted the WAL.");
}

/** Windows deletes no file that is open. */
export const losesWals = process.platform !== "win32";
