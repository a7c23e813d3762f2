/** The system clock: pauses longer than a timer's maximum, and time limits. */
import { expect, it } from "vitest";

import { CallSignal, sleep, systemClock, TimeLimitError, waitWithin } from "../src/clock.ts";

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

it.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
  "does not end a pause of %s ms immediately",
  async (ms) => {
    const stop = new CallSignal();
    let isOver = false;
    const waiting = sleep(systemClock, ms, stop).then(
      () => {
        isOver = true;
      },
      () => {},
    );
    await turns();
    expect(isOver).toBe(false);
    stop.abort(new Error("enough"));
    await waiting;
  },
);

it("ends a short pause, and throws TimeLimitError at a time limit", async () => {
  await sleep(systemClock, 1, new CallSignal());
  const inOneMs = systemClock.monotonicMs() + 1;
  const limits = { clock: systemClock, endsAtMs: () => inOneMs, signal: undefined };
  const never = waitWithin(limits, new Promise(() => {}));
  await expect(never).rejects.toBeInstanceOf(TimeLimitError);
});

it("returns a monotonic time that does not decrease", () => {
  const before = systemClock.monotonicMs();
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before);
});
