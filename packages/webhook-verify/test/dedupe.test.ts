/** memoryDedupe: three states, limited in number and in time. */
import { expect, it } from "vitest";
import { memoryDedupe } from "../src/index.ts";
import { createTestClock } from "./receiver-setup.ts";

it("returns new for the first claim, in-progress until it ends, then done", () => {
  const store = memoryDedupe();
  expect([store.claim("a"), store.claim("a")]).toEqual(["new", "in-progress"]);
  store.complete("a");
  expect(store.claim("a")).toBe("done");
});

it("returns new again for a released id", () => {
  const store = memoryDedupe();
  store.claim("a");
  store.release("a");
  expect(store.claim("a")).toBe("new");
});

it("removes an id after ttlSeconds, not earlier", () => {
  const clock = createTestClock();
  const store = memoryDedupe({ ttlSeconds: 10, testing: { clock } });
  store.claim("a");
  store.complete("a");
  clock.nowMs = 9_999;
  expect(store.claim("a")).toBe("done");
  clock.nowMs = 10_000;
  expect(store.claim("a")).toBe("new");
});

it("stores at most maxEntries completed ids, and removes the oldest first", () => {
  const store = memoryDedupe({ maxEntries: 2 });
  for (const id of ["a", "b", "c"]) {
    store.claim(id);
    store.complete(id);
  }
  expect(["a", "b", "c"].map((id) => store.claim(id))).toEqual(["new", "done", "done"]);
});

it("never removes an id that is in progress, however many are completed", () => {
  const store = memoryDedupe({ maxEntries: 1 });
  store.claim("slow");
  for (const id of ["a", "b", "c"]) {
    store.claim(id);
    store.complete(id);
  }
  expect(store.claim("slow")).toBe("in-progress");
});

it("ends a claim that is neither completed nor released after leaseSeconds", () => {
  const clock = createTestClock();
  const store = memoryDedupe({ leaseSeconds: 10, testing: { clock } });
  store.claim("a");
  clock.nowMs = 9_999;
  expect(store.claim("a")).toBe("in-progress");
  clock.nowMs = 10_000;
  expect(store.claim("a")).toBe("new");
});

it.each([0, -1, Number.NaN])("throws for the limit %s", (value) => {
  expect(() => memoryDedupe({ maxEntries: value })).toThrow(/maxEntries/);
  expect(() => memoryDedupe({ ttlSeconds: value })).toThrow(/ttlSeconds/);
});
