/** Retry-After as it is read, wherever the machine stands. */
import { afterEach, expect, it } from "vitest";
import { retryAfterMs } from "../src/retry-after.ts";

const nowMs = Date.parse("2026-03-01T12:00:00.000Z");
const zone = process.env["TZ"];
afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

it.each(["Asia/Kolkata", "America/St_Johns", "UTC"])(
  "a date is in GMT, also when the clock on the wall is in %s",
  (name) => {
    process.env["TZ"] = name;
    expect([
      retryAfterMs("Sun, 01 Mar 2026 12:00:03 GMT", nowMs),
      retryAfterMs("Sunday, 01-Mar-26 12:00:03 GMT", nowMs),
      retryAfterMs("Sun Mar  1 12:00:03 2026", nowMs),
    ]).toEqual([3000, 3000, 3000]);
  },
);

it("blanks around it do not matter", () => {
  expect([retryAfterMs(" 7\t", nowMs), retryAfterMs(null, nowMs)]).toEqual([7000, undefined]);
});

it.each([
  "x7",
  "7x",
  "7 s",
  "1234567890123",
  "x Sun, 01 Mar 2026 12:00:03 GMT",
  "Sun, 01 Mar 2026 12:00:03 GMT x",
  "x Sunday, 01-Mar-26 12:00:03 GMT",
  "Sunday, 01-Mar-26 12:00:03 GMT x",
  "x Sun Mar  1 12:00:03 2026",
  "Sun Mar  1 12:00:03 2026 x",
  "Sun, 32 Mar 2026 12:00:03 GMT",
])("%j is none", (value) => expect(retryAfterMs(value, nowMs)).toBeUndefined());
