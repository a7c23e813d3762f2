/** When an answer is due, for one delivery and for many, and what is left behind of the waiting. */
import { describe, expect, it } from "vitest";
import { timeLimit } from "../src/time-limit.ts";

const release = { name: "node" }; // what Bun and Workers say of themselves, too
const node = { process: { release } };
const workers = { process: { release }, navigator: { userAgent: "Cloudflare-Workers" } };

const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

/** How many timers three pieces of work hold the process with. */
function timersOfThree(runtime: object): number {
  const limit = timeLimit(60_000, runtime);
  const before = timers();
  const ends = [1, 2, 3].map(() => limit(performance.now(), () => {}));
  const during = timers();
  for (const end of ends) end();
  expect(timers()).toBe(before);
  return during - before;
}

describe("three deliveries at a time have", () => {
  it.each([
    ["Node 20", node],
    ["Node from 21 on", { ...node, navigator: { userAgent: "Node.js/24" } }],
  ])("one timer on %s, which holds nobody once they have ended", (_name, runtime) => {
    expect(timersOfThree(runtime)).toBe(1);
  });

  it.each([
    ["Workers", workers],
    ["Bun", { process: { release }, navigator: { userAgent: "Bun/1.4.0" } }],
    ["Deno", { process: { release: { name: "deno" } }, navigator: { userAgent: "Deno/2.9" } }],
    ["an edge function", { process: { release }, EdgeRuntime: "edge-runtime" }],
    ["a browser", { navigator: { userAgent: "Mozilla/5.0" } }],
    ["what only calls itself Node", { process: {}, navigator: { userAgent: "Node.js/24" } }],
  ])("one each on %s, where a timer may end with its request", (_name, runtime) => {
    expect(timersOfThree(runtime)).toBe(3);
  });
});

it("one timer for all holds the process as long as anybody waits, and no longer", () => {
  const limit = timeLimit(60_000, node);
  const before = timers();
  const held = () => timers() - before;
  const begin = () => limit(performance.now(), () => {});
  const [endFirst, endSecond] = [begin(), begin()];
  endFirst();
  expect(held()).toBe(1);
  endSecond();
  expect(held()).toBe(0);
  const endThird = begin();
  expect(held()).toBe(1);
  const endFourth = begin();
  endThird();
  endFourth();
  expect(held()).toBe(0);
});

it("one timer for all is started anew when it was lost", async () => {
  const ms = 20;
  const limit = timeLimit(ms, node);
  const { setTimeout: genuine } = globalThis;
  globalThis.setTimeout = (() => ({ ref() {}, unref() {} })) as never; // one that never wakes
  limit(performance.now(), () => {})();
  globalThis.setTimeout = genuine;
  await new Promise<void>((resolve) => limit(performance.now() + 2 * ms + 1, resolve));
});

describe.each([
  ["shared", node],
  ["of its own", workers],
])("a timer that is %s", (_name, runtime) => {
  it("calls back in the order of the beginnings, each when its time is up, and not for what has ended", async () => {
    const limit = timeLimit(40, runtime);
    const told: [name: string, afterMs: number][] = [];
    const begin = (name: string) => {
      const beganMs = performance.now();
      let end = () => {};
      const isUp = new Promise<void>((resolve) => {
        end = limit(beganMs, () => {
          told.push([name, performance.now() - beganMs]);
          resolve();
        });
      });
      return { beganMs, end, isUp };
    };
    const first = begin("first");
    const second = begin("second");
    while (performance.now() - first.beganMs < 5) await new Promise(setImmediate);
    const third = begin("third"); // due when the first one's time has been up for a while
    second.end();
    await Promise.all([first.isUp, third.isUp]);
    expect(told.map(([name]) => name)).toEqual(["first", "third"]);
    for (const [, afterMs] of told) expect(afterMs).toBeGreaterThan(38); // a timer may be a millisecond early
  });

  it("serves who comes when all others have gone", async () => {
    const limit = timeLimit(20, runtime);
    limit(performance.now(), () => {})();
    await new Promise<void>((resolve) => limit(performance.now(), resolve));
    await new Promise<void>((resolve) => limit(performance.now(), resolve));
  });
});
