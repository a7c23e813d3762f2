/** The machine's clock: waits that no timer can hold in one piece, and waits that end early. */
import { expect, it } from "vitest";
import { pause, systemClock, TimeUp, within } from "../src/clock.ts";

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

it.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])("a wait of %s ms does not end at once", async (ms) => {
  const controller = new AbortController();
  let isOver = false;
  const waiting = pause({ clock: systemClock, ms, signal: controller.signal }).then(
    () => {
      isOver = true;
    },
    () => {},
  );
  await turns();
  expect(isOver).toBe(false);
  controller.abort();
  await waiting;
});

it("a short wait ends", async () => {
  await pause({ clock: systemClock, ms: 1, signal: undefined });
  const never = within({ clock: systemClock, ms: 1, signal: undefined }, new Promise(() => {}));
  await expect(never).rejects.toBeInstanceOf(TimeUp);
});

it("time only goes forward, whatever the date does", () => {
  const before = systemClock.monotonicMs();
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before);
});
