/**
 * Watches the log of a SQLite file. POSIX locks belong to a process: a second SQLite library on the
 * file, or any close of a descriptor of it, drops those that SQLite holds. Then another process may
 * delete the log that this one still writes to, and what it commits is lost.
 */
import { statSync } from "node:fs";
import { withSafeMessage } from "../reporting.ts";
import type { SqliteDatabase } from "./database-node.ts";

/** The log that a connection writes. */
export interface SqliteLog {
  /**
   * @returns its size in bytes, which is 0 when nothing is left to write to the file.
   * @throws when the log beside the file is no longer that of the connection, and from then on.
   */
  measure(): number;
  /** @throws the error, and lets `measure` throw it from now on. */
  abandon(error: unknown): never;
}

/** Connections that must not be closed, not even by the garbage collector. */
const abandoned = new Set<SqliteDatabase>();

/** @param database a connection that has read the file: then it has its log. */
export function watchLog(database: SqliteDatabase): SqliteLog {
  const path = findLog(database);
  const inode = path && statSync(path, { throwIfNoEntry: false })?.ino;
  /** Why the connection must not be used. */
  let refusal: unknown;

  function abandon(error: unknown): never {
    refusal = error;
    abandoned.add(database);
    throw error;
  }

  return {
    abandon,
    measure() {
      if (refusal !== undefined) throw refusal;
      if (path === undefined) return 0;
      const log = statSync(path, { throwIfNoEntry: false });
      // Windows deletes no file that is open.
      if (log?.ino === inode || process.platform === "win32") return log?.size ?? 0;
      return abandon(createLostLog(path));
    },
  };
}

/** @returns the path of the log; undefined for a database in memory. */
function findLog(database: SqliteDatabase): string | undefined {
  const files = database.prepare("PRAGMA database_list").all() as { name: string; file: string }[];
  const file = files.find(({ name }) => name === "main")?.file;
  return file ? `${file}-wal` : undefined;
}

const createLostLog = (path: string) =>
  withSafeMessage(
    new Error(
      `The log ${path} is no longer the one that this process writes, so its last commit may be lost. Either two SQLite libraries of this process use the file, such as node:sqlite and libsql (the option \`open\` lets all use one), or this process copied, read or replaced the file itself, such as with fs.copyFile: closing a file drops SQLite's locks on it. This process uses the file no more. End it with SIGKILL, because SQLite would write its old pages over those of other processes when it closes the file.`,
    ),
  );
