/** What the outbox needs of Node.js: hashes of keys and contacts, and the file of a SQLite outbox. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import { closeSync, openSync, statSync } from "node:fs";
import { resolve } from "node:path";

export const hashText = (text: string): string => createHash("sha256").update(text).digest("base64url");

export const createKey = (): string => randomBytes(32).toString("base64url");

/**
 * A customer's contacts as keyed hashes: a plain hash of a phone could be reversed by trying all phones. Different
 * spellings of one phone or email have the same hash. It does no harm when two people share a hash.
 */
export function hashContacts(key: string, body: string): { phone: string | null; email: string | null } {
  const { customer } = JSON.parse(body) as { customer: { phone?: string; email?: string } };
  const hash = (text: string) => createHmac("sha256", key).update(text).digest("base64url").slice(0, 22);
  const digits = customer.phone?.replace(/\D/g, "").slice(-9);
  const email = customer.email?.trim().toLowerCase();
  return { phone: digits ? hash(`phone ${digits}`) : null, email: email ? hash(`email ${email}`) : null };
}

/** Creates a file for its owner only. SQLite gives its other files the same mode. An existing file stays as it is. */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(resolve(file), "ax", 0o600));
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code === "EEXIST") return;
    throw new Error(`sqliteOutbox cannot create the file "${file}": ${message}`, { cause: error });
  }
}

/** Returns the inode number, which differs in a copy of the file. */
export const getFileNumber = (file: string): string => String(statSync(resolve(file), { bigint: true }).ino);
