/** The memory of event ids: three states, bounded in number and time. */
import { expect, it } from "vitest";
import { memoryDedupe } from "../src/index.ts";

it("an id is new once, in progress until it ends, and then done", () => {
  const store = memoryDedupe();
  expect([store.begin("a"), store.begin("a")]).toEqual(["new", "in-progress"]);
  store.complete("a");
  expect(store.begin("a")).toBe("done");
});

it("an abandoned id is new again", () => {
  const store = memoryDedupe();
  store.begin("a");
  store.abandon("a");
  expect(store.begin("a")).toBe("new");
});

it("an id is forgotten when its time is over, not before", () => {
  let nowMs = 0;
  const store = memoryDedupe({ ttlSeconds: 10, now: () => nowMs });
  store.begin("a");
  store.complete("a");
  nowMs = 9_999;
  expect(store.begin("a")).toBe("done");
  nowMs = 10_000;
  expect(store.begin("a")).toBe("new");
});

it("keeps at most maxEntries finished ids, forgetting the oldest first", () => {
  const store = memoryDedupe({ maxEntries: 2 });
  for (const id of ["a", "b", "c"]) {
    store.begin(id);
    store.complete(id);
  }
  expect(["a", "b", "c"].map((id) => store.begin(id))).toEqual(["new", "done", "done"]);
});

it("never forgets an id that is in progress, however many finish", () => {
  const store = memoryDedupe({ maxEntries: 1 });
  store.begin("slow");
  for (const id of ["a", "b", "c"]) {
    store.begin(id);
    store.complete(id);
  }
  expect(store.begin("slow")).toBe("in-progress");
});

it("a claim that hangs holds for a time, and no longer", () => {
  let nowMs = 0;
  const store = memoryDedupe({ claimSeconds: 10, now: () => nowMs });
  store.begin("a");
  nowMs = 9_999;
  expect(store.begin("a")).toBe("in-progress");
  nowMs = 10_000;
  expect(store.begin("a")).toBe("new");
});

it.each([0, -1, Number.NaN])("refuses %s as a bound", (value) => {
  expect(() => memoryDedupe({ maxEntries: value })).toThrow(/maxEntries/);
  expect(() => memoryDedupe({ ttlSeconds: value })).toThrow(/ttlSeconds/);
});
