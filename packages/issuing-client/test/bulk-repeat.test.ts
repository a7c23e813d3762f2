/** Repeated rows of bulk issuing: which failures repeat a row, after which pause, and in which order rows are sent. */
import { describe, expect, it } from "vitest";
import { countFailure, repeatPolicy, SendQueue, shouldRepeat } from "../src/bulk/repeat.ts";
import type { PreparedRow } from "../src/bulk/row.ts";
import { IssuingError, type IssuingErrorCode } from "../src/errors.ts";

const { maxFailures, patienceMs } = repeatPolicy;

describe("shouldRepeat", () => {
  it.each<[IssuingErrorCode, boolean, boolean, boolean]>([
    // code, retryable, an earlier attempt may have issued the card, repeated
    ["server", true, false, true],
    ["network", true, true, true],
    ["rate-limited", true, false, true],
    ["invalid-response", false, false, true],
    ["conflict", false, false, false],
    ["conflict", false, true, true],
    ["not-found", false, true, false],
    ["validation", false, true, false],
    ["rejected", false, false, false],
  ])("%s (retryable %s, earlier attempt %s): %s", (code, retryable, mayExist, isRepeated) => {
    const error = new IssuingError("", { code, retryable, outcome: "unknown" });
    expect(shouldRepeat(error, mayExist)).toBe(isRepeated);
  });

  it("does not repeat a row whose card is known", () => {
    const error = new IssuingError("", {
      code: "invalid-response",
      outcome: "unknown",
      retryable: true,
      cardId: "card_1",
    });
    expect(shouldRepeat(error, true)).toBe(false);
  });
});

describe("countFailure", () => {
  const running = { isServiceHealthy: true, isSourceRead: false, sinceSuccessMs: 0, random: () => 1 };
  const unhealthy = { ...running, isServiceHealthy: false };
  const lastOfMany = { ...unhealthy, isSourceRead: true, sinceSuccessMs: patienceMs };
  /** A row that fails `times` times. @returns its pauses; undefined when it is given up. */
  function fail(times: number, code: IssuingErrorCode, state: typeof running) {
    const row = { failures: 0, countedFailures: 0 };
    return Array.from({ length: times }, () => countFailure(row, code, state));
  }

  it("doubles the pause of a row from half a second to ten seconds", () => {
    expect(fail(7, "server", unhealthy)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  it.each([
    [0, 250, 5_000],
    [0.5, 375, 7_500],
    [1, 500, 10_000],
  ])("waits between half of the pause and the whole: random %f", (random, first, last) => {
    const delays = fail(9, "server", { ...unhealthy, random: () => random });
    expect([delays[0], delays.at(-1)]).toEqual([first, last]);
  });

  it.each<[string, IssuingErrorCode, typeof running, boolean]>([
    ["gives up a row that fails while the service is healthy", "server", running, true],
    ["repeats a row that fails while the service is not healthy", "server", unhealthy, false],
    ["repeats a row that is rate-limited by a healthy service", "rate-limited", running, false],
    ["gives up a row after conflicts, healthy or not", "conflict", unhealthy, true],
    ["gives up the last rows without a success for five minutes", "network", lastOfMany, true],
    ["repeats the last rows that are rate-limited", "rate-limited", lastOfMany, false],
    ["repeats while the source has rows", "network", { ...lastOfMany, isSourceRead: false }, false],
    [
      "repeats within five minutes of a success",
      "network",
      { ...lastOfMany, sinceSuccessMs: patienceMs - 1 },
      false,
    ],
  ])("%s", (_title, code, state, isGivenUp) => {
    const delays = fail(maxFailures, code, state);
    expect(delays.slice(0, -1)).not.toContain(undefined);
    expect(delays.at(-1) === undefined).toBe(isGivenUp);
  });
});

describe("SendQueue", () => {
  const createQueue = (...times: number[]) => {
    const queue = new SendQueue<string>();
    for (const [index, notBeforeMs] of times.entries()) {
      queue.add({ index, notBeforeMs } as PreparedRow<string>);
    }
    return queue;
  };

  it("has no delay and no row when it is empty", () => {
    const queue = createQueue();
    expect(queue.getDelayMs(0)).toBeUndefined();
    expect(queue.take(0)).toBeUndefined();
  });

  it("waits for the earliest row", () => {
    const queue = createQueue(900, 300, 600);
    expect(queue.getDelayMs(100)).toBe(200);
    expect(queue.take(299)).toBeUndefined();
    expect(queue.getDelayMs(300)).toBe(0);
    expect(queue.take(300)?.index).toBe(1);
    expect(queue.getDelayMs(300)).toBe(300);
  });

  it("sends a row whose time has come before an earlier row whose time has not", () => {
    const queue = createQueue(500, 0, 0);
    expect(queue.getDelayMs(10)).toBe(0);
    expect([queue.take(10)?.index, queue.take(10)?.index, queue.take(10)]).toEqual([1, 2, undefined]);
    expect(queue.take(500)?.index).toBe(0);
  });

  it("keeps the order of rows whose time has come", () => {
    const queue = createQueue(5, 0, 3);
    expect([5, 5, 5].map((nowMs) => queue.take(nowMs)?.index)).toEqual([0, 1, 2]);
  });
});
