/**
 * The index of a list: stores its valid rows until the whole list is known, and finds rows of the
 * same user or customer. Two users with one phone or email are one customer of the service (spec
 * 4.1).
 */
import { type OpenSqliteDatabase, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { CommandError } from "../command-error.ts";
import type { Identity } from "./identity.ts";
import type { MappingOptions, Target } from "./mapping.ts";
import type { ImportRow } from "./row.ts";

/** A value that must occur once in a list, in the form in which it is compared. */
type ListKey = readonly [target: Target, key: string];

/** @returns a problem for each value that an earlier row has. */
export const findDuplicates = (keys: readonly ListKey[], index: ListIndex) =>
  keys.flatMap(([target, key]) => {
    const line = index.findLine(key);
    if (line === undefined) return [];
    const effect =
      target === "userId" ? "" : ": one person would get two cards (see --allow-same-person)";
    const message = `is also in line ${line}${effect}`;
    const cause = `${target} is also in an earlier line${effect}`;
    return [{ target, code: "duplicate", message, cause }];
  });

export function toKeys(
  { userId, phone, email }: Partial<Identity>,
  { allowSamePerson }: MappingOptions,
): readonly ListKey[] {
  const keys: ListKey[] = [];
  if (userId) keys.push(["userId", toUserKey(userId)]);
  if (allowSamePerson) return keys;
  if (phone) keys.push(["phone", toPhoneKey(phone)]);
  if (email) keys.push(["email", email.toLowerCase()]);
  return keys;
}

const toUserKey = (userId: string) => `user ${userId}`;

/** Phones are compared without their spelling. */
const toPhoneKey = (phone: string) => phone.replace(/\(0\)|[^\d+]/g, "").replace(/^00/, "+");

export type ListIndex = ReturnType<typeof createIndex>;

/**
 * Creates the index of a list: the first line of each user, phone and email, whether that row is
 * valid, and the valid rows. It is a temporary file of SQLite, so memory does not grow with the
 * list.
 */
export function createIndex(database: OpenSqliteDatabase = openSqlite("")) {
  database.exec("PRAGMA temp_store = FILE"); // libsql would keep the table in memory
  database.exec("PRAGMA temp.journal_mode = OFF");
  database.exec(
    `CREATE TEMP TABLE lines (key TEXT PRIMARY KEY, line INTEGER NOT NULL, is_valid INTEGER NOT NULL)
     WITHOUT ROWID;
     CREATE TEMP TABLE rows (id INTEGER PRIMARY KEY, row TEXT NOT NULL);
     BEGIN`,
  );
  const insert = database.prepare("INSERT OR IGNORE INTO lines VALUES (?, ?, ?)");
  const select = database.prepare("SELECT line, is_valid FROM lines WHERE key = ?");
  const insertRow = database.prepare("INSERT INTO rows (row) VALUES (?)");
  const selectRows = database.prepare("SELECT id, row FROM rows WHERE id > ? ORDER BY id LIMIT ?");
  const find = (key: string) =>
    useIndex(() => select.get(key) as { line: number; is_valid: number } | undefined);
  const selectBatch = (afterId: number, size: number) =>
    useIndex(() => selectRows.all(afterId, size) as { id: number; row: string }[]);
  return {
    /** Adds the values of a row that no earlier row has. */
    addRow(keys: readonly ListKey[], line: number, isValid: boolean): void {
      for (const [, key] of keys) useIndex(() => insert.run(key, line, Number(isValid)));
    },
    /** @returns the first line that has a value. */
    findLine: (key: string) => find(key)?.line,
    hasUser: (userId: string) => find(toUserKey(userId)) !== undefined,
    /** @returns the line of the user's row if it is valid. */
    findValidRow(userId: string): number | undefined {
      const row = find(toUserKey(userId));
      return row?.is_valid ? row.line : undefined;
    },
    /** Stores a valid row until the whole list is known. */
    store: (row: ImportRow) => useIndex(() => insertRow.run(JSON.stringify(row))),
    /** @returns the stored rows, in batches. */
    *readBatches(size: number): Generator<ImportRow[], void> {
      let lastId: number | undefined = 0;
      while (lastId !== undefined) {
        const stored = selectBatch(lastId, size);
        if (stored.length > 0) yield stored.map(({ row }) => JSON.parse(row));
        lastId = stored.at(-1)?.id;
      }
    },
    close: () => database.close(),
  };
}

/**
 * SQLite can also write its temporary file when it reads, because it needs the memory.
 * @throws {CommandError} when the file cannot be used, such as on a full disk.
 */
function useIndex<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    throw new CommandError(`The temporary folder cannot be used: ${(error as Error).message}`, {
      fix: "Set SQLITE_TMPDIR (Windows: TMP) to a folder with more space.",
    });
  }
}
