/**
 * Watches the write-ahead log (WAL) of a SQLite file. POSIX locks belong to a process: a second
 * SQLite library on the file, or any close of a descriptor of it, drops those that SQLite holds.
 * Then another process may delete the WAL that this one still writes to, and what it commits is
 * lost.
 */
import { statSync } from "node:fs";
import { withSafeMessage } from "../errors.ts";
import type { SqliteDatabase } from "./database-node.ts";

/** The write-ahead log of a connection. */
export interface SqliteWal {
  /** @throws when the WAL beside the file is no longer that of the connection, and from then on. */
  requireOwn(): void;
  /** @returns 0 when nothing is left to write to the file. */
  getSizeBytes(): number;
  /** @throws the error, and lets `requireOwn` throw it from now on. */
  abandon(error: unknown): never;
}

/** Connections that must not be closed, not even by the garbage collector. */
const abandoned = new Set<SqliteDatabase>();

/** @param database a connection that has read the file: then it has its WAL. */
export function watchWal(database: SqliteDatabase): SqliteWal {
  const path = findWal(database);
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
    requireOwn() {
      if (refusal !== undefined) throw refusal;
      // Windows deletes no file that is open.
      if (path === undefined || process.platform === "win32") return;
      const wal = statSync(path, { throwIfNoEntry: false });
      if (wal?.ino !== inode) abandon(createLostWal(path));
    },
    getSizeBytes: () => (path && statSync(path, { throwIfNoEntry: false })?.size) || 0,
  };
}

/** @returns its path; undefined for a database in memory. */
function findWal(database: SqliteDatabase): string | undefined {
  const files = database.prepare("PRAGMA database_list").all() as { name: string; file: string }[];
  const file = files.find(({ name }) => name === "main")?.file;
  return file ? `${file}-wal` : undefined;
}

const createLostWal = (path: string) =>
  withSafeMessage(
    new Error(
      `The log ${path} is no longer that of this process, whose last commit may be lost: a second SQLite library, such as libsql, or fs.copyFile dropped its locks. End it with SIGKILL: to close the file would overwrite it. See https://loyalty-cards.github.io/loyalty-cards/guides/outbox#sqlite-locks.`,
    ),
  );
