/** The retry policy: idempotent requests, retryable statuses, and Retry-After in several time zones. */
import { afterEach, describe, expect, it } from "vitest";
import { getDelayMs, isIdempotent, isRetryableStatus, parseRetryAfter } from "../src/retry.ts";

describe("isIdempotent", () => {
  it.each(["GET", "HEAD", "PUT"])("returns true for %s", (method) => {
    expect(isIdempotent(method, {})).toBe(true);
  });

  it.each(["POST", "PATCH"])("returns true for %s only with an idempotency key", (method) => {
    expect(isIdempotent(method, { "idempotency-key": "k" })).toBe(true);
    expect(isIdempotent(method, { accept: "application/json" })).toBe(false);
  });
});

it("retries 408, 425, 429 and every 5xx, and no other status of an error", () => {
  const statuses = Array.from({ length: 200 }, (_, index) => 400 + index);
  const retryable = statuses.filter(isRetryableStatus);
  expect(retryable).toEqual([408, 425, 429, ...statuses.slice(100)]);
});

it("rounds a pause to whole milliseconds", () => {
  expect(getDelayMs(1, () => 1 / 7)).toBe(43);
});

const nowMs = Date.parse("2026-03-01T12:00:00.000Z");
const zone = process.env["TZ"];
afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

it.each(["Asia/Kolkata", "America/St_Johns", "UTC"])(
  "reads a Retry-After date as GMT when the local time zone is %s",
  (name) => {
    process.env["TZ"] = name;
    expect([
      parseRetryAfter("Sun, 01 Mar 2026 12:00:03 GMT", nowMs),
      parseRetryAfter("Sunday, 01-Mar-26 12:00:03 GMT", nowMs),
      parseRetryAfter("Sun Mar  1 12:00:03 2026", nowMs),
    ]).toEqual([3000, 3000, 3000]);
  },
);

it.each<[string | null, number | undefined]>([
  [null, undefined],
  [" 7\t", 7000],
  ...[
    ...["x7", "7x", "7 s", "1234567890123"],
    ...["x Sun, 01 Mar 2026 12:00:03 GMT", "Sun, 01 Mar 2026 12:00:03 GMT x"],
    ...["x Sunday, 01-Mar-26 12:00:03 GMT", "Sunday, 01-Mar-26 12:00:03 GMT x"],
    ...["x Sun Mar  1 12:00:03 2026", "Sun Mar  1 12:00:03 2026 x"],
    ...["Sun, 32 Mar 2026 12:00:03 GMT", "Sat, 31 Feb 2026 12:00:03 GMT", "Sunday, 31-Apr-26 12:00:03 GMT"],
    ...["Sun Feb 30 12:00:03 2026", "Sun, 01 Mar 2026 24:00:00 GMT"],
  ].map((malformed): [string, undefined] => [malformed, undefined]),
  ["Friday, 01-Mar-76 12:00:00 GMT", Date.UTC(2076, 2, 1, 12) - nowMs],
  ["Tuesday, 01-Mar-77 12:00:00 GMT", 0],
  ["Sunday, 28-Feb-26 23:59:60 GMT", 0],
  ["Sun, 01 Mar 2026 12:00:60 GMT", 60_000], // a leap second
  ["Tuesday, 01-Jan-60 00:00:00 GMT", Date.UTC(2060, 0, 1) - nowMs], // RFC 9110, 5.6.7: less than 50 years ahead
])("reads the Retry-After value %j", (value, expected) => {
  expect(parseRetryAfter(value, nowMs)).toBe(expected);
});
