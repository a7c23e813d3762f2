/**
 * Rows of one list that are the same user or the same customer: two users with one phone or email
 * are one customer of the service (spec 4.1).
 */
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import type { IdentityReadings } from "./identity.ts";
import { type MappedRecord, type RowProblem, toProblem } from "./mapped-record.ts";
import type { MappingOptions, Target } from "./mapping.ts";

/** A value that must occur once in a list. */
interface UniqueValue {
  target: Target;
  text: string;
}

const toUserKey = (userId: string): string => `user ${userId}`;

/** @returns the values that can be read, in the form in which they are compared. */
export function toUniqueValues(
  { userId, phone, email }: IdentityReadings,
  { allowSamePerson }: MappingOptions,
): UniqueValue[] {
  const values: UniqueValue[] = [];
  if (userId.value) values.push({ target: "userId", text: toUserKey(userId.value) });
  if (allowSamePerson) return values;
  if (phone.value) values.push({ target: "phone", text: toPhoneKey(phone.value) });
  if (email.value) values.push({ target: "email", text: email.value.toLowerCase() });
  return values;
}

/** Phones are compared without their spelling. */
const toPhoneKey = (phone: string) => phone.replace(/\(0\)|[^\d+]/g, "").replace(/^00/, "+");

export function findDuplicates(
  mapped: MappedRecord,
  values: readonly UniqueValue[],
  index: ListIndex,
): RowProblem[] {
  const problems: RowProblem[] = [];
  for (const { target, text } of values) {
    const line = index.findLine(text);
    if (line === undefined) continue;
    const effect =
      target === "userId" ? "" : ": one person would get two cards (see --allow-same-person)";
    problems.push({
      ...toProblem(mapped, "duplicate", `is also in line ${line}${effect}`, target),
      cause: `${target} is also in an earlier line${effect}`,
    });
  }
  return problems;
}

export type ListIndex = ReturnType<typeof createIndex>;

/**
 * Creates the index of a list: the first line of each user, phone and email, and whether that row
 * is valid. It is a temporary file of SQLite, so memory does not grow with the list.
 */
export function createIndex() {
  const database = openSqlite("");
  database.exec("PRAGMA temp_store = FILE"); // libsql would keep the table in memory
  database.exec("PRAGMA temp.journal_mode = OFF");
  database.exec(
    "CREATE TEMP TABLE lines (key TEXT PRIMARY KEY, line INTEGER NOT NULL, is_valid INTEGER NOT NULL) WITHOUT ROWID; BEGIN",
  );
  const insert = database.prepare("INSERT OR IGNORE INTO lines VALUES (?, ?, ?)");
  const select = database.prepare("SELECT line, is_valid FROM lines WHERE key = ?");
  const find = (key: string) => select.get(key) as { line: number; is_valid: number } | undefined;
  return {
    add(values: readonly UniqueValue[], line: number, isValid: boolean): void {
      for (const { text } of values) insert.run(text, line, Number(isValid));
    },
    /** @returns the first line that has a value. */
    findLine: (key: string) => find(key)?.line,
    /** @returns the line of the user's row if it is valid. */
    findValidRow(userId: string): number | undefined {
      const row = find(toUserKey(userId));
      return row?.is_valid ? row.line : undefined;
    },
    close: () => database.close(),
  };
}
