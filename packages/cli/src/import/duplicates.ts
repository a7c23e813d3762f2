/** Duplicates in a file: rows with the user id, the phone or the email of another row. */
import { hash, randomBytes } from "node:crypto";
import {
  type OpenSqliteDatabase,
  openSqlite,
  type SqliteStatement,
} from "@loyalty-cards/internal/sqlite/database-node";

/**
 * Stores the first line of each user, phone and email in a temporary file, which SQLite removes, so that the use of memory does not grow
 * with the list. The file contains hashes with a key that only this process knows.
 */
export class Duplicates {
  readonly #database: OpenSqliteDatabase = openSqlite("");
  readonly #insert: SqliteStatement;
  readonly #select: SqliteStatement;
  readonly #key = randomBytes(32).toString("base64url");

  constructor() {
    this.#database.exec("PRAGMA temp_store = FILE"); // libsql would keep the table in memory
    this.#database.exec("PRAGMA temp.journal_mode = OFF");
    this.#database.exec(
      "CREATE TEMP TABLE lines (hash TEXT PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID",
    );
    this.#database.exec("BEGIN");
    this.#insert = this.#database.prepare("INSERT INTO lines VALUES (?, ?) ON CONFLICT DO NOTHING");
    this.#select = this.#database.prepare("SELECT line FROM lines WHERE hash = ?");
  }

  /** @returns the line of the first row with this id; undefined when this is the first. */
  addUser(userId: string, line: number): number | undefined {
    return this.#add(`user ${userId}`, line);
  }

  /** @returns the line of the first row with this contact, however it is written; undefined when this is the first. */
  addContact(target: keyof Contacts, value: string, line: number): number | undefined {
    const [contact] = normalizeContacts({ [target]: value });
    return contact === undefined ? undefined : this.#add(contact, line);
  }

  close(): void {
    this.#database.close();
  }

  #add(text: string, line: number): number | undefined {
    const textHash = hash("sha256", this.#key + text, "base64url").slice(0, 16);
    if (Number(this.#insert.run(textHash, line).changes) === 1) return undefined;
    return (this.#select.get(textHash) as { line: number }).line;
  }
}

/** The contact members of a request that identify a customer ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
interface Contacts {
  phone?: string | null | undefined;
  email?: string | null | undefined;
}

/**
 * Returns the phone and the email of a customer in a form that is equal for different spellings: the digits of the phone with `+` for `00`,
 * the email in lower case. No country code is added: `600 100 200` and `+48 600 100 200` count as two people.
 */
function normalizeContacts({ phone, email }: Contacts): string[] {
  const digits = (phone ?? "").replace(/\(0\)/g, "").replace(/[^\d+]/g, "");
  const contacts: string[] = [];
  if (/\d/.test(digits)) contacts.push(`phone ${digits.replace(/^00/, "+")}`);
  const address = (email ?? "").trim().toLowerCase();
  if (address !== "") contacts.push(`email ${address}`);
  return contacts;
}
