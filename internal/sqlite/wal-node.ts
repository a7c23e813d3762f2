/**
 * Watches a SQLite file and its write-ahead log (WAL). POSIX locks belong to a process: a second
 * SQLite library on the file, or any close of a descriptor of it, drops those that SQLite holds.
 * Then another process may delete the WAL that this one still writes to. The file itself may be
 * moved or replaced, as when a backup is restored. What this process commits then is lost.
 */
import { statSync } from "node:fs";
import { withSafeMessage } from "../errors.ts";
import type { SqliteDatabase } from "./database-node.ts";

/** The write-ahead log of a connection. */
export interface SqliteWal {
  /** @throws when the file or its WAL is no longer that of the connection, and from then on. */
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
  const file = findFile(database);
  const path = file && `${file}-wal`;
  const fileInode = readInode(file);
  const inode = readInode(path);
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
      if (readInode(file) !== fileInode)
        abandon(createLost(`file ${file}`, "it was moved, deleted or replaced"));
      if (readInode(path) !== inode)
        abandon(
          createLost(
            `log ${path}`,
            "a second SQLite library, such as libsql, or fs.copyFile dropped its locks",
          ),
        );
    },
    getSizeBytes: () => (path && statSync(path, { throwIfNoEntry: false })?.size) || 0,
  };
}

/** @returns its path; undefined for a database in memory. */
function findFile(database: SqliteDatabase): string | undefined {
  const files = database.prepare("PRAGMA database_list").all() as { name: string; file: string }[];
  return files.find(({ name }) => name === "main")?.file || undefined;
}

/** @returns undefined when there is no such file. */
const readInode = (path: string | undefined): number | undefined =>
  path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })?.ino;

const createLost = (what: string, cause: string) =>
  withSafeMessage(
    new Error(
      `The ${what} is no longer that of this process, whose last commit may be lost: ${cause}. End it with SIGKILL: to close the file would overwrite it. See https://loyalty-cards.github.io/loyalty-cards/guides/outbox#sqlite-locks.`,
    ),
  );
