/** Duplicates in a file: rows with the user id, the phone or the e-mail of an earlier row. */
import { hash } from "node:crypto";

/** Finds the line in which a text occurred first. It keeps 12 bytes per text in tables that are at most half full, a Map of texts five times as much. */
class FirstLines {
  /** Slots of three numbers: 64 bits of the text's hash, and the line; line 0 marks a free slot. */
  #slots = new Uint32Array(3 * 1024);
  #count = 0;

  /** @returns the line of the first occurrence; undefined when this is the first. */
  add(text: string, line: number): number | undefined {
    if (this.#count * 6 >= this.#slots.length) this.#grow();
    const digest = hash("sha256", text, "buffer");
    const first = this.#put(digest.readUInt32LE(0), digest.readUInt32LE(4), line);
    if (first === undefined) this.#count++;
    return first;
  }

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

/** The first line of each user, phone and e-mail. */
export class Duplicates {
  readonly #users = new FirstLines();
  readonly #contacts = new FirstLines();

  /** @returns the line of the first row with this id. */
  addUser(userId: string, line: number): number | undefined {
    return this.#users.add(userId, line);
  }

  /** @returns the line of the first row with this contact: a phone in any notation, an e-mail in any case. */
  addContact(kind: "phone" | "email", value: string, line: number): number | undefined {
    const normalized =
      kind === "phone" ? value.replace(/[^\d+]/g, "").replace(/^00/, "+") : value.toLowerCase();
    return this.#contacts.add(normalized, line);
  }
}
