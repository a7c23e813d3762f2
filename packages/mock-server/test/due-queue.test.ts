/** The queue of due items: ordered by time, and equal times keep their order. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { createDueQueue } from "../src/delivery/dispatcher.ts";

it("returns items in the order of their time, in whatever order they were added", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (times) => {
      const queue = createDueQueue<[number, number]>();
      for (const [index, dueAtMs] of times.entries()) queue.add([dueAtMs, index], dueAtMs);
      const taken: [number, number][] = [];
      for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
      const expected = times.map((dueAtMs, index): [number, number] => [dueAtMs, index]);
      expect(taken).toEqual(expected.sort(([a, i], [b, j]) => a - b || i - j));
    }),
  );
});

it("returns when the first item is due, and is empty after clear", () => {
  const queue = createDueQueue<string>();
  expect([queue.next(), queue.take()]).toEqual([undefined, undefined]);
  queue.add("b", 2);
  queue.add("a", 1);
  expect(queue.next()?.dueAtMs).toBe(1);
  queue.clear();
  expect([queue.next(), queue.take()]).toEqual([undefined, undefined]);
});
