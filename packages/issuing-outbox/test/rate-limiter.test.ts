/** The limits of `Rate`, one by one: pauses, requests at once, latency, and requests per second. */
import { describe, expect, it } from "vitest";
import { createTestClock } from "../../issuing-client/test/test-clock.ts";
import { RateLimiter, type RateOptions, type RequestEnd } from "../src/rate-limiter.ts";

const second = 1000;

/** A rate, and requests that run one after another. */
function createRate(options: Partial<RateOptions> = {}) {
  const clock = createTestClock();
  const rate = new RateLimiter({
    concurrency: 32,
    maxPerSecond: Number.POSITIVE_INFINITY,
    clock,
    random: () => 1,
    ...options,
  });
  function request(count: number, end: RequestEnd, latencyMs = 0) {
    for (let index = 0; index < count; index++) {
      const started = rate.start();
      clock.advance(latencyMs);
      rate.end(started, end);
    }
  }
  /** Starts a request. @returns how long the next one has to wait. */
  const getSpacingMs = () => {
    rate.start();
    return rate.getDelayMs(0);
  };
  return { clock, rate, request, getSpacingMs };
}

describe("the pause", () => {
  it("begins with the eighth failure in a row, doubles up to ten seconds, and is short again after a success", () => {
    const { clock, rate, request } = createRate();
    request(7, "failed");
    expect(rate.pausedMs).toBe(0);
    const pauses: number[] = [];
    for (let index = 0; index < 6; index++) {
      request(1, "failed");
      pauses.push(rate.pausedMs);
      expect(rate.getDelayMs(0)).toBe(rate.pausedMs);
      expect(rate.concurrency).toBe(1);
      clock.advance(rate.pausedMs);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    request(1, "responded");
    request(7, "failed");
    expect(rate.pausedMs).toBe(0);
    request(1, "failed");
    expect(rate.pausedMs).toBe(1_000);
  });

  it.each([
    [0, 500],
    [0.5, 750],
    [1, 1_000],
  ])("takes between half of its time and the whole: random %f", (random, pauseMs) => {
    const { rate, request } = createRate({ random: () => random });
    request(8, "failed");
    expect(rate.pausedMs).toBe(pauseMs);
  });
});

describe("requests at once", () => {
  it("double in each round until failures halve them; then each round adds one", () => {
    const { rate, request } = createRate();
    expect(rate.concurrency).toBe(4);
    request(27, "responded");
    expect(rate.concurrency).toBe(31);
    request(10, "responded");
    expect(rate.concurrency).toBe(32);
    request(3, "failed");
    expect(rate.concurrency).toBe(32);
    request(1, "failed");
    expect(rate.concurrency).toBe(16);
    request(16, "responded");
    expect(rate.concurrency).toBe(16);
    request(1, "responded");
    expect(rate.concurrency).toBe(17);
  });

  it("are halved once for failures of requests that started before", () => {
    const { rate, request } = createRate();
    request(28, "responded");
    const started = Array.from({ length: 6 }, () => rate.start());
    for (const one of started) rate.end(one, "failed");
    expect(rate.concurrency).toBe(16);
    request(1, "failed");
    expect(rate.concurrency).toBe(8);
  });

  it("rise quickly after a pause to half of what was reached before", () => {
    const { clock, rate, request } = createRate();
    request(28, "responded");
    request(8, "rate-limited");
    clock.advance(rate.pausedMs);
    expect(rate.concurrency).toBe(1);
    request(15, "responded");
    expect(rate.concurrency).toBe(16);
    request(16, "responded");
    expect(rate.concurrency).toBe(16);
  });

  it("rise quickly after a pause to half of what each round had added to, when that is more", () => {
    const { clock, rate, request } = createRate();
    request(28, "responded");
    request(4, "failed"); // 16
    request(16 + 17 + 18 + 19 + 4, "responded");
    expect(rate.concurrency).toBe(20);
    request(8, "rate-limited");
    clock.advance(rate.pausedMs);
    request(10, "responded");
    expect(rate.concurrency).toBe(11);
    request(10, "responded");
    expect(rate.concurrency).toBe(11);
  });

  it("rise slowly after a pause in which failures had reduced them to one", () => {
    const { clock, rate, request } = createRate();
    request(8, "failed");
    clock.advance(rate.pausedMs);
    request(1, "responded");
    expect(rate.concurrency).toBe(2);
    request(2, "responded");
    expect(rate.concurrency).toBe(2);
    request(1, "responded");
    expect(rate.concurrency).toBe(3);
  });
});

describe("the latency", () => {
  /** Rounds of sixteen requests. @returns the requests at once after them, of eight before. */
  const afterRounds = (...latencies: number[]) => {
    const { rate, request } = createRate({ concurrency: 8 });
    for (const latencyMs of latencies) request(16, "responded", latencyMs);
    return rate.concurrency;
  };

  it.each([
    [[100, 300], 8],
    [[100, 301], 6],
    [[5, 110], 8],
    [[5, 111], 6],
  ])("has risen when a round takes more than twice the usual and 100 ms: %j", (latencies, concurrency) => {
    expect(afterRounds(...latencies)).toBe(concurrency);
  });

  it.each([
    [[100, 300, 312], 8],
    [[100, 300, 313], 6],
    [[100, 50, 200], 8],
    [[100, 50, 201], 6],
  ])(
    "follows slowly when the service becomes slower, at once when it becomes faster: %j",
    (latencies, concurrency) => {
      expect(afterRounds(...latencies)).toBe(concurrency);
    },
  );

  it("is the mean of a round", () => {
    const { rate, request } = createRate({ concurrency: 8 });
    request(16, "responded", 100);
    request(8, "responded", 500);
    request(8, "responded", 100);
    expect(rate.concurrency).toBe(8);
  });
});

describe("the limit per second", () => {
  it.each<[string, number, [number, number][]]>([
    ["those of the last second", 9, [[10, 100]]],
    [
      "those of this second when they are more",
      18,
      [
        [10, 100],
        [10, 50],
      ],
    ],
    [
      "a second that has just begun counts as a tenth",
      9,
      [
        [10, 100],
        [1, 10],
      ],
    ],
    ["at least one", 1, []],
  ])("becomes nine tenths of the responses per second; %s", (_title, perSecond, responses) => {
    const { request, getSpacingMs } = createRate();
    for (const [count, latencyMs] of responses) request(count, "responded", latencyMs);
    request(3, "rate-limited");
    expect(getSpacingMs()).toBeCloseTo(1_000 / perSecond);
  });

  it("does not exist while at most one of a hundred requests is too many", () => {
    const { request, getSpacingMs } = createRate();
    request(2, "rate-limited");
    request(3, "failed");
    expect(getSpacingMs()).toBe(0);
  });

  it("rises when requests wait for it, faster in each second, up to maxPerSecond", () => {
    const { clock, rate, request } = createRate({ maxPerSecond: 12 });
    request(10, "responded", 100);
    request(3, "rate-limited");
    clock.advance(second); // the requests before have no effect on the next start
    const limits: number[] = [];
    for (let index = 0; index < 4; index++) {
      const started = rate.start();
      limits.push(1_000 / (rate.getDelayMs(0) ?? 0));
      clock.advance(second);
      rate.end(started, "responded");
    }
    expect(limits.map((limit) => limit.toFixed(1))).toEqual(["9.0", "10.0", "11.3", "12.0"]);
  });

  it("does not rise while no request waits for it", () => {
    const { rate, request, getSpacingMs } = createRate();
    request(10, "responded", 100);
    request(3, "rate-limited");
    for (let index = 0; index < 5; index++) {
      request(1, "responded", second);
      expect(rate.getDelayMs(0)).toBe(0);
    }
    expect(getSpacingMs()).toBeCloseTo(1_000 / 9);
  });

  it("does not fall for failures that are not too many requests", () => {
    const { clock, request, getSpacingMs } = createRate();
    request(10, "responded", 100);
    request(3, "rate-limited");
    request(3, "failed");
    clock.advance(second);
    expect(getSpacingMs()).toBeCloseTo(1_000 / 9);
  });

  it("is exact up to 100; above it, requests that are late by up to 10 ms are made up for", () => {
    expect(createRate({ maxPerSecond: 100 }).getSpacingMs()).toBeCloseTo(10);
    const { clock, rate, getSpacingMs } = createRate({ maxPerSecond: 1_000 });
    expect(getSpacingMs()).toBeCloseTo(1.01);
    clock.advance(second);
    let atOnce = 0;
    for (; rate.getDelayMs(0) === 0; atOnce++) rate.start();
    expect(atOnce).toBe(10);
  });
});
