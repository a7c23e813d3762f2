/** What is due first comes first, and equal times keep their order. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { dueQueue } from "../src/delivery/due-queue.ts";

it("gives everything in the order of time, whatever the order it came in", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (times) => {
      const queue = dueQueue<[number, number]>();
      for (const [index, dueAtMs] of times.entries()) queue.add([dueAtMs, index], dueAtMs);
      const taken: [number, number][] = [];
      for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
      const expected = times.map((dueAtMs, index): [number, number] => [dueAtMs, index]);
      expect(taken).toEqual(expected.sort(([a, i], [b, j]) => a - b || i - j));
    }),
  );
});

it("tells when the first one is due, and forgets everything when cleared", () => {
  const queue = dueQueue<string>();
  expect([queue.next(), queue.take()]).toEqual([undefined, undefined]);
  queue.add("b", 2);
  queue.add("a", 1);
  expect(queue.next()?.dueAtMs).toBe(1);
  queue.clear();
  expect([queue.next(), queue.take()]).toEqual([undefined, undefined]);
});
