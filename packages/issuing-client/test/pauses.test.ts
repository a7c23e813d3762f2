/** Pauses between attempts: with random responses as Retry-After says or within the jitter, and before the deadline; and the system clock, with pauses longer than a timer's maximum. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { sleep, systemClock, timeLimit, waitWithin } from "../src/clock.ts";
import { createIssuingClient, isIssuingError } from "../src/index.ts";
import { retryPolicy } from "../src/retry.ts";
import { networkError } from "./scripted.ts";
import { createTestClock } from "./test-clock.ts";

/** A Retry-After value, and the pause that it requests at a given time; undefined when it is malformed. */
interface RetryAfter {
  text: string | undefined;
  delayMs: (nowMs: number) => number | undefined;
}

const malformed = (text: string): RetryAfter => ({ text, delayMs: () => undefined });
const dated =
  (format: (date: Date) => string) =>
  (date: Date): RetryAfter => ({
    text: format(date),
    delayMs: (nowMs) => Math.max(0, date.getTime() - nowMs),
  });

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/** The parts of an IMF-fixdate, to build the two older formats. */
function toDateParts(date: Date) {
  const [, day = "", month, year = "", time] = date.toUTCString().split(" ");
  return { weekday: days[date.getUTCDay()] ?? "", day, month, year, time };
}
const rfc850 = (date: Date) => {
  const { weekday, day, month, year, time } = toDateParts(date);
  return `${weekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`;
};
const asctime = (date: Date) => {
  const { weekday, day, month, year, time } = toDateParts(date);
  return `${weekday.slice(0, 3)} ${month} ${day.replace(/^0/, " ")} ${time} ${year}`;
};

const instant = fc.oneof(
  fc.integer({ min: -60, max: 60 }).map((seconds) => new Date(Date.UTC(2026, 2, 1, 12, 0, seconds))),
  fc
    .date({ min: new Date("2010-01-01"), max: new Date("2045-01-01"), noInvalidDate: true })
    .map((date) => new Date(Math.floor(date.getTime() / 1000) * 1000)),
);
const seconds = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 10 ** 12 - 1 }),
  fc.constantFrom(0, 2_147_483, 2_147_484, 4_294_968, 10 ** 12 - 1),
);
/** A header value has no white space around it. */
const headerText = fc
  .string({ unit: "grapheme-ascii", maxLength: 40 })
  .map((text) => text.trim())
  .filter((text) => !/^\d{1,12}$/.test(text));

const retryAfter: fc.Arbitrary<RetryAfter> = fc.oneof(
  fc.constant<RetryAfter>({ text: undefined, delayMs: () => undefined }),
  seconds.map((value): RetryAfter => ({ text: String(value), delayMs: () => value * 1000 })),
  instant.map(dated((date) => date.toUTCString())),
  instant.map(dated(rfc850)),
  instant.map(dated(asctime)),
  headerText.map(malformed),
  fc.oneof(seconds, fc.double({ noNaN: true })).map((value) => malformed(`-${Math.abs(value)}.5`)),
  instant.map((date) => malformed(date.toISOString())),
  instant.map((date) => malformed(date.toUTCString().replace("GMT", "CET"))),
  instant.map((date) => malformed(date.toUTCString().replace(/\d\d:\d\d:\d\d/, "12:61:00"))),
);

const failing = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ status: fc.constantFrom(408, 425, 429, 500, 502, 503, 599), retryAfter }),
  },
  { weight: 1, arbitrary: fc.constantFrom("reset", "cut") },
);
/** `Math.random` never returns 1 or -0, but another source can. */
const random = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, -0, 1, 1 - 2 ** -53));

it("waits as Retry-After says or within full jitter, and never past the deadline, for random responses", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(failing, random), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 0, max: 11 }),
      fc.integer({ min: 1, max: 100_000 }),
      async (responses, maxRetries, deadlineMs) => {
        const clock = createTestClock();
        const pauses: number[] = [];
        let sent = 0;
        /** The last response. */
        const last = () => responses[(sent - 1) % responses.length] ?? expect.unreachable();
        const requested = () => {
          const [response] = last();
          return typeof response === "string" ? undefined : response.retryAfter.delayMs(clock.now());
        };
        const longestMs = () =>
          Math.min(retryPolicy.maxDelayMs, retryPolicy.initialDelayMs * 2 ** (sent - 1));

        // Errors of a listener are ignored, so failures are collected.
        const broken: string[] = [];
        const client = createIssuingClient({
          baseUrl: "https://cards.test",
          apiKey: "k",
          testing: { clock, random: () => last()[1] },
          maxRetries,
          deadlineMs,
          onEvent(event) {
            if (event.type !== "retry") return;
            const { delayMs } = event;
            pauses.push(delayMs);
            const requestedMs = requested();
            const isRight =
              requestedMs === undefined ? delayMs >= 0 && delayMs <= longestMs() : delayMs === requestedMs;
            if (!isRight) broken.push(`pause ${delayMs}, retryAfter ${requestedMs}, at most ${longestMs()}`);
            if (!(clock.monotonicMs() + delayMs < deadlineMs)) broken.push(`pause ${delayMs} is too long`);
          },
          fetch: async () => {
            sent += 1;
            const [response] = last();
            if (response === "reset") throw networkError("ECONNRESET");
            if (response === "cut") return new Response('{"id":"card_', { status: 200 });
            const { status, retryAfter } = response;
            return new Response("", {
              status,
              headers: retryAfter.text === undefined ? {} : { "retry-after": retryAfter.text },
            });
          },
        });

        const error = await clock.runUntilEnd(client.getCard("card_1").catch((thrown) => thrown));
        expect(isIssuingError(error)).toBe(true);
        expect(broken).toEqual([]);
        expect(clock.monotonicMs()).toBe(pauses.reduce((sum, ms) => sum + ms, 0));
        expect(clock.monotonicMs()).toBeLessThan(deadlineMs);
        expect([error.attempts, pauses.length]).toEqual([sent, sent - 1]);
        // A call ends early only when no time is left; its error then has the requested delay.
        if (sent <= maxRetries) {
          expect(requested() ?? longestMs()).toBeGreaterThanOrEqual(deadlineMs - clock.monotonicMs());
        }
        const requestedMs = requested();
        expect(error.retryAfterMs).toBe(requestedMs && Math.min(requestedMs, 24 * 3_600_000));
      },
    ),
    { numRuns: 300 },
  );
});

it.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
  "does not end a pause of %s ms immediately",
  async (ms) => {
    const controller = new AbortController();
    const end = sleep(ms, { clock: systemClock, signal: controller.signal }).then(
      () => "over",
      () => "aborted",
    );
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error("enough"));
    expect(await end).toBe("aborted");
  },
);

it("ends a short pause, and a wait at its time limit", async () => {
  const limits = { clock: systemClock, signal: undefined };
  await sleep(1, limits);
  expect(await waitWithin(1, new Promise(() => {}), limits)).toBe(timeLimit);
});
