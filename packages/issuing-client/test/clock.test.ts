/** The machine's clock: waits that no timer can hold in one piece, and waits that end early. */
import { expect, it } from "vitest";
import { Stop } from "../src/abort.ts";
import { pause, systemClock, TimeUp, within } from "../src/clock.ts";

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

it.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])("a wait of %s ms does not end at once", async (ms) => {
  const stop = new Stop();
  let isOver = false;
  const waiting = pause(systemClock, ms, stop).then(
    () => {
      isOver = true;
    },
    () => {},
  );
  await turns();
  expect(isOver).toBe(false);
  stop.abort(new Error("enough"));
  await waiting;
});

it("a short wait ends", async () => {
  await pause(systemClock, 1, new Stop());
  const inOneMs = systemClock.monotonicMs() + 1;
  const limits = { clock: systemClock, endsAtMs: () => inOneMs, signal: undefined };
  const never = within(limits, new Promise(() => {}));
  await expect(never).rejects.toBeInstanceOf(TimeUp);
});

it("time only goes forward, whatever the date does", () => {
  const before = systemClock.monotonicMs();
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before);
});
