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

it.each([
  ["Sat, 31 Feb 2026 12:00:03 GMT", undefined],
  ["Sunday, 31-Apr-26 12:00:03 GMT", undefined],
  ["Sun Feb 30 12:00:03 2026", undefined],
  ["Sun, 01 Mar 2026 24:00:00 GMT", undefined],
  ["Friday, 01-Mar-76 12:00:00 GMT", Date.UTC(2076, 2, 1, 12) - nowMs],
  ["Tuesday, 01-Mar-77 12:00:00 GMT", 0],
  ["Sunday, 28-Feb-26 23:59:60 GMT", 0],
  ["Sun, 01 Mar 2026 12:00:60 GMT", 60_000], // a leap second
  ["Tuesday, 01-Jan-60 00:00:00 GMT", Date.UTC(2060, 0, 1) - nowMs], // RFC 9110, 5.6.7: less than 50 years ahead
])("%j is a date only if it is on the calendar", (value, expected) => {
  expect(retryAfterMs(value, nowMs)).toBe(expected);
});
