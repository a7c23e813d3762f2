/**
 * Watches the log of a SQLite file. POSIX locks belong to a process: a second SQLite library on the
 * file, or any close of a descriptor of it, drops those that SQLite holds. Then another process may
 * delete the log that this one still writes to, and what it commits is lost.
 */
import { statSync } from "node:fs";
import { withSafeMessage } from "../errors.ts";
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
      `The log ${path} is no longer that of this process, whose last commit may be lost: a second SQLite library, such as libsql, or fs.copyFile dropped its locks. End it with SIGKILL: to close the file would overwrite it. See https://loyalty-cards.github.io/loyalty-cards/guides/outbox#sqlite-locks.`,
    ),
  );
