/** The rate of bulk issuing in virtual time: storms, rate limits, latency and pauses. */
import { describe, expect, it } from "vitest";
import { createBulkService, rowsUntil, toRows } from "./bulk-service.ts";
import { json, networkError } from "./scripted.ts";
import { createTestClock } from "./test-clock.ts";

const second = 1000;
const minute = 60 * second;

describe("a storm of three minutes", () => {
  const begin = 30 * second;
  const end = begin + 3 * minute;
  it.each([
    ["429", () => json({}, 429)],
    ["429 with Retry-After", () => json({}, 429, { "retry-after": "5" })],
    ["503", () => json({}, 503)],
    ["failing connections", () => networkError("ECONNRESET")],
  ])("of %s: the rate falls, no row fails, and the rate returns within a minute", async (_name, fail) => {
    const clock = createTestClock();
    const { run, rate } = createBulkService({
      clock,
      latencyMs: 200,
      respond: () => (clock.monotonicMs() >= begin && clock.monotonicMs() < end ? fail() : undefined),
    });
    const { results, thrown, statuses } = await run(rowsUntil(clock, end + minute), { concurrency: 4 });
    expect(thrown).toBeUndefined();
    expect(statuses).toEqual({ issued: results.length });
    const before = rate(10 * second, begin);
    expect(before).toBeGreaterThan(18);
    expect(rate(begin + 5 * second, end)).toBeLessThan(0.02 * before);
    expect(rate(end + 50 * second, end + minute)).toBeGreaterThan(0.9 * before);
  });

  it("fails no row when nine of ten requests fail", async () => {
    const clock = createTestClock();
    let count = 0;
    const { run, rate } = createBulkService({
      clock,
      latencyMs: 200,
      respond: () =>
        clock.monotonicMs() >= begin && clock.monotonicMs() < end && count++ % 10 > 0
          ? json({}, 500)
          : undefined,
    });
    const { results, statuses } = await run(rowsUntil(clock, end + minute), { concurrency: 4 });
    expect(statuses).toEqual({ issued: results.length });
    expect(rate(begin + 10 * second, end)).toBeLessThan(0.2 * rate(10 * second, begin));
    expect(rate(end + 50 * second, end + minute)).toBeGreaterThan(0.9 * rate(10 * second, begin));
  });

  it("fails no row when it begins after the last row was read", async () => {
    const clock = createTestClock();
    const { run } = createBulkService({
      clock,
      respond: () => (clock.monotonicMs() < 3 * minute ? json({}, 503) : undefined),
    });
    const { statuses } = await run(toRows(20));
    expect(statuses).toEqual({ issued: 20 });
  });
});

describe("a service with a limit per second", () => {
  it("is used at nine tenths of its limit, with few requests too many", async () => {
    const clock = createTestClock();
    let tokens = 50;
    let atMs = 0;
    const { run, sent, rate } = createBulkService({
      clock,
      latencyMs: 20,
      respond(request) {
        tokens = Math.min(50, tokens + ((request.atMs - atMs) * 50) / second);
        atMs = request.atMs;
        if (tokens < 1) return json({}, 429);
        tokens -= 1;
        return undefined;
      },
    });
    const { results, statuses } = await run(rowsUntil(clock, minute));
    expect(statuses).toEqual({ issued: results.length });
    const later = sent.filter((request) => request.atMs > 20 * second);
    const tooMany = later.filter(({ status }) => status === 429).length;
    expect(tooMany / later.length).toBeLessThan(0.03);
    expect(rate(20 * second, minute)).toBeGreaterThan(0.85 * 50);
  });

  it.each([1, 7, 150])("never gets more than maxPerSecond, %i, in any second", async (maxPerSecond) => {
    const { run, sent, clock, rate } = createBulkService({ latencyMs: 30 });
    await run(rowsUntil(clock, 10 * second), { maxPerSecond });
    const times = sent.map(({ atMs }) => atMs);
    times.forEach((atMs, index) => {
      const after = times[index + maxPerSecond];
      if (after !== undefined) expect(after - atMs).toBeGreaterThanOrEqual(second - 1e-6);
    });
    expect(rate(0, 10 * second)).toBeGreaterThan(0.9 * maxPerSecond);
  });
});

it("sends nothing until the time of Retry-After has passed", async () => {
  let count = 0;
  const { run, sent } = createBulkService({
    respond: () => (++count === 20 ? json({}, 503, { "retry-after": "30" }) : undefined),
  });
  const { statuses } = await run(toRows(200), { concurrency: 4 });
  expect(statuses).toEqual({ issued: 200 });
  const gaps = sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
  expect(gaps.filter((ms) => ms >= 29 * second)).toHaveLength(1);
});

it("uses fewer requests at once when the latency rises, and as many as before when it falls", async () => {
  const clock = createTestClock();
  const isSlow = (atMs: number) => atMs > 10 * second && atMs < 30 * second;
  const { run, sent } = createBulkService({
    clock,
    // Slow means: of more than four requests at once, each one makes all slower.
    latencyMs: ({ atMs, running }) => (isSlow(atMs) ? 200 * Math.max(1, running / 4) ** 2 : 200),
  });
  await run(rowsUntil(clock, minute), { concurrency: 16 });
  const meanRunning = (fromMs: number, untilMs: number) => {
    const requests = sent.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
    return requests.reduce((sum, { running }) => sum + running, 0) / requests.length;
  };
  expect(meanRunning(5 * second, 10 * second)).toBeGreaterThan(15);
  expect(meanRunning(20 * second, 30 * second)).toBeLessThan(9);
  expect(meanRunning(50 * second, minute)).toBeGreaterThan(15);
});

it("ends a row as unknown that keeps failing while others succeed", async () => {
  const { run, sent } = createBulkService({
    respond: (_request, { customer }) => (customer.email === "user7@example.com" ? json({}, 500) : undefined),
  });
  const { results, statuses } = await run(toRows(800));
  expect(statuses).toEqual({ issued: 799, unknown: 1 });
  const unknown = results.find(({ status }) => status === "unknown");
  expect(unknown).toMatchObject({ index: 7, error: { code: "server", outcome: "unknown" } });
  expect(sent.filter(({ key }) => key === unknown?.idempotencyKey)).toHaveLength(10);
});

it("gives up rows that keep failing when no other row is left, after at least five minutes", async () => {
  const { run, clock } = createBulkService({ respond: () => json({}, 500) });
  const { statuses } = await run(toRows(20));
  expect(statuses).toEqual({ unknown: 20 });
  expect(clock.monotonicMs()).toBeGreaterThan(5 * minute);
});
