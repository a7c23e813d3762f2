/** Whatever the service answers and however the dice fall: pauses are as asked or within the jitter, and fit the deadline. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { createIssuingClient, isIssuingError } from "../src/index.ts";
import { retryPolicy } from "../src/retry-policy.ts";
import { networkError } from "./scripted.ts";
import { simulatedTime } from "./simulated-time.ts";

/** A Retry-After, and the pause it asks for at a given time; undefined when it is none. */
interface Asked {
  text: string | undefined;
  pauseMs: (nowMs: number) => number | undefined;
}

const malformed = (text: string): Asked => ({ text, pauseMs: () => undefined });
const dated =
  (format: (date: Date) => string) =>
  (date: Date): Asked => ({
    text: format(date),
    pauseMs: (nowMs) => Math.max(0, date.getTime() - nowMs),
  });

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/** The parts of an IMF-fixdate, of which the two older forms are made. */
function partsOf(date: Date) {
  const [, day = "", month, year = "", time] = date.toUTCString().split(" ");
  return { weekday: days[date.getUTCDay()] ?? "", day, month, year, time };
}
const rfc850 = (date: Date) => {
  const { weekday, day, month, year, time } = partsOf(date);
  return `${weekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`;
};
const asctime = (date: Date) => {
  const { weekday, day, month, year, time } = partsOf(date);
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
/** As a header gives it back: without blanks around it. */
const headerText = fc
  .string({ unit: "grapheme-ascii", maxLength: 40 })
  .map((text) => text.trim())
  .filter((text) => !/^\d{1,12}$/.test(text));

const asked: fc.Arbitrary<Asked> = fc.oneof(
  fc.constant<Asked>({ text: undefined, pauseMs: () => undefined }),
  seconds.map((value): Asked => ({ text: String(value), pauseMs: () => value * 1000 })),
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
  { weight: 4, arbitrary: fc.record({ status: fc.constantFrom(408, 425, 429, 500, 502, 503, 599), asked }) },
  { weight: 1, arbitrary: fc.constantFrom("reset", "cut") },
);
/** `Math.random` gives neither 1 nor -0, but other sources may. */
const random = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, -0, 1, 1 - 2 ** -53));

it("every pause is what the service asked for, or within full jitter, and none passes the deadline", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(failing, random), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 0, max: 11 }),
      fc.integer({ min: 1, max: 100_000 }),
      async (answers, maxRetries, deadlineMs) => {
        const clock = simulatedTime();
        const pauses: number[] = [];
        let sent = 0;
        /** The answer that the client has just got. */
        const last = () => answers[(sent - 1) % answers.length] ?? expect.unreachable();
        const requested = () => {
          const [answer] = last();
          return typeof answer === "string" ? undefined : answer.asked.pauseMs(clock.now());
        };
        const longestMs = () =>
          Math.min(retryPolicy.longestPauseMs, retryPolicy.firstPauseMs * 2 ** (sent - 1));

        // A listener that throws would not be heard.
        const broken: string[] = [];
        const client = createIssuingClient({
          baseUrl: "https://cards.test",
          apiKey: "k",
          clock,
          maxRetries,
          deadlineMs,
          random: () => last()[1],
          onEvent(event) {
            if (event.type !== "retry") return;
            const { pauseMs } = event;
            pauses.push(pauseMs);
            const askedMs = requested();
            const isRight =
              askedMs === undefined ? pauseMs >= 0 && pauseMs <= longestMs() : pauseMs === askedMs;
            if (!isRight) broken.push(`pause ${pauseMs}, asked ${askedMs}, at most ${longestMs()}`);
            if (!(clock.monotonicMs() + pauseMs < deadlineMs)) broken.push(`pause ${pauseMs} is too long`);
          },
          fetch: async () => {
            sent += 1;
            const [answer] = last();
            if (answer === "reset") throw networkError("ECONNRESET");
            if (answer === "cut") return new Response('{"id":"card_', { status: 200 });
            const { status, asked } = answer;
            return new Response("", {
              status,
              headers: asked.text === undefined ? {} : { "retry-after": asked.text },
            });
          },
        });

        const error = await clock.during(client.getCard("card_1").catch((thrown) => thrown));
        expect(isIssuingError(error)).toBe(true);
        expect(broken).toEqual([]);
        expect(clock.monotonicMs()).toBe(pauses.reduce((sum, ms) => sum + ms, 0));
        expect(clock.monotonicMs()).toBeLessThan(deadlineMs);
        expect([error.attempts, pauses.length]).toEqual([sent, sent - 1]);
        // It gives up early only for lack of time, and then says for how long it was asked to wait.
        if (sent <= maxRetries) {
          expect(requested() ?? longestMs()).toBeGreaterThanOrEqual(deadlineMs - clock.monotonicMs());
        }
        expect(error.retryAfterMs).toBe(requested());
      },
    ),
    { numRuns: 300 },
  );
});
