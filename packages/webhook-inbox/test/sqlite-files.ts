/** Inboxes in temporary files, on every SQLite engine of this runtime. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { onTestFinished } from "vitest";
import { openLibsql, type SqliteInbox, type SqliteInboxOptions, sqliteInbox } from "../src/index.ts";

const hasOwn = process.getBuiltinModule?.("node:sqlite") !== undefined;

export const engines: [name: string, open: OpenSqlite][] = [
  ["libsql", openLibsql],
  ...(hasOwn ? [["node:sqlite", openSqlite] satisfies [string, OpenSqlite]] : []),
];

export function scratchFile(name = "inbox.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "webhook-inbox-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

/** Opens an inbox that is closed at the end of the test. It logs only to the `log` that the test passes. */
export function openInbox(options: Partial<SqliteInboxOptions> = {}): SqliteInbox {
  const inbox = sqliteInbox({ file: options.file ?? scratchFile(), log: () => {}, ...options });
  onTestFinished(() => inbox.close({ graceMs: 0 }));
  return inbox;
}

/** A promise and its resolve function. */
export function latch<Value = void>() {
  let open: (value: Value) => void = () => {};
  const opened = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Wraps `open`, and calls `onRun` with the SQL of every statement that runs. */
export function watched(open: OpenSqlite, onRun: (sql: string) => void): OpenSqlite {
  return (file) => {
    const database = open(file);
    const prepare = database.prepare.bind(database);
    database.prepare = (sql) => {
      const statement = prepare(sql);
      const run: typeof statement.run = (...values) => {
        onRun(sql);
        return statement.run(...values);
      };
      return { run, get: statement.get.bind(statement), all: statement.all.bind(statement) };
    };
    return database;
  };
}
