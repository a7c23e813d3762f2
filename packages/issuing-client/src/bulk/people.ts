/** Rows of the same person: finds them by phone and e-mail, and sends them one after another, in the order of the source. */

/** A 53-bit hash of a text (cyrb53): two of a million texts are equal by chance in one of 18 000 runs. */
export function hashText(text: string): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x9e3779b1);
    high = Math.imul(high ^ unit, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
}

/** A map from hashes to numbers that needs 16 bytes per slot: a Map of the same size needs four times as much. */
export class HashTable {
  #keys = new Float64Array(1024);
  #values = new Float64Array(1024);
  #size = 0;

  get(hash: number): number | undefined {
    const slot = this.#findSlot(hash);
    return this.#keys[slot] === 0 ? undefined : this.#values[slot];
  }

  set(hash: number, value: number): void {
    if (this.#size * 3 > this.#keys.length * 2) this.#grow();
    const slot = this.#findSlot(hash);
    if (this.#keys[slot] === 0) this.#size += 1;
    this.#keys[slot] = hash + 1; // 0 marks a free slot
    this.#values[slot] = value;
  }

  #findSlot(hash: number): number {
    const keys = this.#keys;
    let slot = hash % keys.length;
    while (keys[slot] !== 0 && keys[slot] !== hash + 1) slot = (slot + 1) % keys.length;
    return slot;
  }

  #grow(): void {
    const keys = this.#keys;
    const values = this.#values;
    this.#keys = new Float64Array(keys.length * 2);
    this.#values = new Float64Array(keys.length * 2);
    keys.forEach((key, index) => {
      if (key === 0) return;
      const slot = this.#findSlot(key - 1);
      this.#keys[slot] = key;
      this.#values[slot] = values[index] ?? 0;
    });
  }
}

/** Remembers for each phone and e-mail the first row that has it. */
export class People {
  readonly #firstRows = new HashTable();

  /** @returns the index of the first row that shares a contact with this row; undefined when this is the first. */
  add(contacts: readonly number[], index: number): number | undefined {
    const known = contacts.map((contact) => this.#firstRows.get(contact)).filter((row) => row !== undefined);
    const first = known.length === 0 ? undefined : Math.min(...known);
    for (const contact of contacts) {
      if (this.#firstRows.get(contact) === undefined) this.#firstRows.set(contact, first ?? index);
    }
    return first;
  }
}

/**
 * Rows that must not run at the same time: those that share a phone, an e-mail or an idempotency key. The service finds or creates
 * the customer, which two requests at once could both do.
 */
export class Lanes<Item extends { readonly lanes: readonly number[] }> {
  readonly #waiting = new Map<number, Item[]>();

  /** Adds an item behind all others with the same lane. @returns whether it is the first of all its lanes. */
  enter(item: Item): boolean {
    for (const lane of item.lanes) {
      const items = this.#waiting.get(lane);
      if (items === undefined) this.#waiting.set(lane, [item]);
      else items.push(item);
    }
    return this.#isFirst(item);
  }

  /** Removes an item that was first. @returns the items that have become first. */
  leave(item: Item): Item[] {
    const next = new Set<Item>();
    for (const lane of item.lanes) {
      const items = this.#waiting.get(lane) ?? [];
      items.shift();
      if (items[0] === undefined) this.#waiting.delete(lane);
      else next.add(items[0]);
    }
    return [...next].filter((other) => this.#isFirst(other));
  }

  #isFirst(item: Item): boolean {
    return item.lanes.every((lane) => this.#waiting.get(lane)?.[0] === item);
  }
}
