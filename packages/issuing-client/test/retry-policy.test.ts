/** What may go out twice, and after which statuses it does. */
import { describe, expect, it } from "vitest";
import { isRepeatable, isRetryableStatus, ownPauseMs } from "../src/retry-policy.ts";

describe("a request may go out again", () => {
  it.each(["GET", "HEAD", "PUT"])("when it is a %s", (method) => {
    expect(isRepeatable(method, {})).toBe(true);
  });

  it.each(["POST", "PATCH", "DELETE"])(
    "when it is a %s with an idempotency key, and not without",
    (method) => {
      expect(isRepeatable(method, { "idempotency-key": "k" })).toBe(true);
      expect(isRepeatable(method, { accept: "application/json" })).toBe(false);
    },
  );
});

it.each([
  [407, false],
  [408, true],
  [409, false],
  [424, false],
  [425, true],
  [429, true],
  [499, false],
  [500, true],
  [501, false],
  [502, true],
  [599, true],
])("%i: %s", (status, expected) => expect(isRetryableStatus(status)).toBe(expected));

it("a pause is a whole number of milliseconds", () => {
  expect(ownPauseMs(1, () => 1 / 7)).toBe(43);
});
