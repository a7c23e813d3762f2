/** People of bulk issuing: rows with the same phone or e-mail are found, and wait for each other. */
import { normalizeContacts } from "@loyalty-cards/internal/contacts";
import { describe, expect, it } from "vitest";
import { HashTable, hashText, Lanes, People } from "../src/bulk/people.ts";

const toContacts = (customer: object) => normalizeContacts(customer).map(hashText);

describe("People", () => {
  it("names the smallest index when a row shares its phone with one row and its e-mail with another", () => {
    for (const contacts of [
      [1, 2],
      [2, 1],
    ]) {
      const people = new People();
      expect(people.add([1], 0)).toBeUndefined();
      expect(people.add([2], 1)).toBeUndefined();
      expect(people.add(contacts, 2)).toBe(0);
    }
  });

  it("keeps the first row of a contact, and names it for the other contacts of its rows", () => {
    const people = new People();
    people.add([1], 0);
    people.add([2], 1);
    expect(people.add([1, 2, 3], 2)).toBe(0);
    expect(people.add([2], 3)).toBe(1);
    expect(people.add([3], 4)).toBe(0);
  });

  it("finds one person by an e-mail in another case", () => {
    const people = new People();
    people.add(toContacts({ email: "Anna@Example.com" }), 0);
    expect(people.add(toContacts({ email: " anna@example.COM " }), 1)).toBe(0);
  });

  it("never finds a person by a blank contact", () => {
    const people = new People();
    for (const [index, customer] of [
      {},
      { email: "" },
      { email: " ", phone: "" },
      { phone: " - " },
    ].entries()) {
      expect(people.add(toContacts(customer), index)).toBeUndefined();
    }
  });

  it("finds everybody among thousands", () => {
    const people = new People();
    const count = 5_000;
    const contacts = (index: number) => [hashText(`phone ${index}`), hashText(`email ${index}`)];
    for (let index = 0; index < count; index++) expect(people.add(contacts(index), index)).toBeUndefined();
    for (let index = 0; index < count; index++) expect(people.add(contacts(index), count)).toBe(index);
  });
});

describe("HashTable", () => {
  it("keeps hashes apart that have the same slot, also after it has grown", () => {
    const table = new HashTable();
    const hashes = Array.from({ length: 1_000 }, (_, index) => index * 4096);
    for (const [index, hash] of hashes.entries()) table.set(hash, index);
    expect(hashes.map((hash) => table.get(hash))).toEqual(hashes.map((_, index) => index));
    expect(table.get(1_000 * 4096)).toBeUndefined();
  });

  it("replaces the value of a hash, and has the hash 0", () => {
    const table = new HashTable();
    expect(table.get(0)).toBeUndefined();
    table.set(0, 1);
    table.set(0, 2);
    expect(table.get(0)).toBe(2);
  });
});

describe("Lanes", () => {
  const item = (...lanes: number[]) => ({ lanes });

  it("starts an item in two lanes when it is first in both", () => {
    const [phone, email, both] = [item(1), item(2), item(1, 2)];
    const lanes = new Lanes();
    expect([phone, email, both].map((entered) => lanes.enter(entered))).toEqual([true, true, false]);
    expect(lanes.leave(phone)).toEqual([]);
    expect(lanes.leave(email)).toEqual([both]);
    expect(lanes.leave(both)).toEqual([]);
  });

  it("starts all items in the order in which they came, and each item once", () => {
    const items = [item(1, 2), item(2, 1), item(2, 3), item(3), item(4)];
    const lanes = new Lanes<(typeof items)[number]>();
    const started = items.filter((entered) => lanes.enter(entered));
    expect(started).toEqual([items[0], items[4]]);
    const order = [...started];
    for (let next = started.shift(); next !== undefined; next = started.shift()) {
      const first = lanes.leave(next);
      started.push(...first);
      order.push(...first);
    }
    expect(order.map((one) => items.indexOf(one))).toEqual([0, 4, 1, 2, 3]);
  });
});
