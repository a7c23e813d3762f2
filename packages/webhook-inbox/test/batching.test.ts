/** Concurrent calls share one query, and each gets its own result. */
import { expect, it } from "vitest";
import { createBatching } from "../src/batching.ts";

it("joins concurrent calls, and those made while a query runs", async () => {
  const batches: number[][] = [];
  const finish: (() => void)[] = [];
  const double = createBatching(
    async (items: number[]) => {
      batches.push(items);
      await new Promise<void>((resolve) => finish.push(resolve));
      return items.map((item) => item * 2);
    },
    { concurrency: 1, maxItems: 3 },
  );
  const first = [1, 2].map(double);
  await new Promise(setImmediate);
  const later = [3, 4, 5, 6].map(double);
  await new Promise(setImmediate);
  expect(batches).toEqual([[1, 2]]);
  finish[0]?.();
  expect(await Promise.all(first)).toEqual([2, 4]);
  await new Promise(setImmediate);
  finish[1]?.();
  await Promise.all(later.slice(0, 3));
  await new Promise(setImmediate);
  finish[2]?.();
  expect(await Promise.all(later)).toEqual([6, 8, 10, 12]);
  expect(batches).toEqual([[1, 2], [3, 4, 5], [6]]);
});

it("rejects every call of a query that fails, and runs the next query", async () => {
  let isBroken = true;
  const run = createBatching(
    async (items: string[]) => {
      if (isBroken) throw new Error("connection lost");
      return items;
    },
    { concurrency: 2, maxItems: 10 },
  );
  const results = await Promise.allSettled(["a", "b"].map(run));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isBroken = false;
  expect(await run("c")).toBe("c");
});
