/** Duplicates in a file: rows with the user id, the phone or the e-mail of another row. */
import { hash } from "node:crypto";
import { normalizeContacts } from "@loyalty-cards/internal/contacts";
import type { Mapping } from "./mapping.ts";
import { addedColumns, type RecordSource } from "./records.ts";

/** Finds the line in which a text occurred first. It keeps 12 bytes per text in tables that are at most half full, a Map of texts five times as much. */
class FirstLines {
  /** Slots of three numbers: 64 bits of the text's hash, and the line; line 0 marks a free slot. */
  #slots = new Uint32Array(3 * 1024);
  #count = 0;

  /** @returns the line of the first occurrence; undefined when this is the first. */
  add(text: string, line: number): number | undefined {
    if (this.#count * 6 >= this.#slots.length) this.#grow();
    const first = this.#put(...digest(text), line);
    if (first === undefined) this.#count++;
    return first;
  }

  /** @returns the line of the first occurrence. */
  find(text: string): number | undefined {
    return this.#put(...digest(text), 0);
  }

  /** With line 0 it is only looked up. */
  #put(low: number, high: number, line: number): number | undefined {
    const slots = this.#slots;
    const length = slots.length / 3;
    for (let slot = low % length; ; slot = (slot + 1) % length) {
      const at = slot * 3;
      if (slots[at + 2] === 0) {
        slots.set([low, high, line], at);
        return undefined;
      }
      if (slots[at] === low && slots[at + 1] === high) return slots[at + 2];
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 3) {
      const [low = 0, high = 0, line = 0] = old.subarray(at, at + 3);
      if (line !== 0) this.#put(low, high, line);
    }
  }
}

function digest(text: string): [low: number, high: number] {
  const bytes = hash("sha256", text, "buffer");
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
}

const contactTargets = ["phone", "email"] as const;
type ContactTarget = (typeof contactTargets)[number];

/** The first line of each user, phone and e-mail. */
export class Duplicates {
  readonly #users = new FirstLines();
  readonly #contacts = new FirstLines();

  /** @returns the line of the first row with this id. */
  addUser(userId: string, line: number): number | undefined {
    return this.#users.add(userId, line);
  }

  /** @returns the line of the first row with this contact, in any notation. */
  addContact(target: ContactTarget, value: string, line: number): number | undefined {
    const [contact] = normalizeContacts({ [target]: value });
    return contact === undefined ? undefined : this.#contacts.add(contact, line);
  }

  /** @returns the line of the first row with this contact. */
  findContact(target: ContactTarget, value: string): number | undefined {
    const [contact] = normalizeContacts({ [target]: value });
    return contact === undefined ? undefined : this.#contacts.find(contact);
  }
}

/** The phones and e-mails of a file, without the rows that are also among the rejected ones: a retry is compared with them. */
export async function readContacts(
  source: RecordSource,
  rejected: RecordSource,
  { columns }: Mapping,
): Promise<Duplicates> {
  const rejectedLines = new Set<number>();
  for await (const record of rejected.records) rejectedLines.add(Number(record.read(addedColumns[0])));
  const contacts = new Duplicates();
  for await (const { line, malformed, read } of source.records) {
    if (malformed !== undefined || rejectedLines.has(line)) continue;
    for (const target of contactTargets) {
      const value = read(columns.get(target) ?? "");
      if (typeof value === "string") contacts.addContact(target, value, line);
    }
  }
  return contacts;
}
