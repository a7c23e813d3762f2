/** Opens a SQLite file with what the runtime has: `node:sqlite`, else the package `libsql`. */
import { createRequire } from "node:module";
import { resolve } from "node:path";
import type { OpenSqlite, OpenSqliteDatabase } from "./database.ts";

/** `process.getBuiltinModule` gives undefined where a runtime lacks the module, and bundlers leave it alone. */
const builtIn = () =>
  process.getBuiltinModule?.("node:sqlite") as
    | { DatabaseSync: new (file: string) => OpenSqliteDatabase }
    | undefined;

/** @throws when there is neither, or the file cannot be opened. */
export const openSqlite: OpenSqlite = (file) => {
  const sqlite = builtIn();
  if (sqlite !== undefined) return new sqlite.DatabaseSync(file);
  return openLibsql(file);
};

/**
 * The same file with `libsql`, whatever the runtime has.
 * @throws when it is not installed.
 * @example
 * ```ts
 * import { openLibsql, sqliteInbox } from "@loyalty-cards/webhook-inbox";
 *
 * export const inbox = sqliteInbox({ file: "inbox.db", open: openLibsql });
 * ```
 */
export const openLibsql: OpenSqlite = (file) => {
  const require = createRequire(import.meta.url);
  let Database: new (file: string) => OpenSqliteDatabase;
  try {
    Database = require("libsql");
  } catch (cause) {
    throw new Error(
      `Node ${process.versions.node} has no node:sqlite, and the package libsql cannot be loaded. Run "npm install libsql", or use Node 22.13 or later.`,
      { cause },
    );
  }
  return new Database(file);
};

/** So that a name such as `:memory:` or `file:inbox.db` is a file like any other. */
export const absolutePath = (file: string): string => resolve(file);
