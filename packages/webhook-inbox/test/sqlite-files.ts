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
