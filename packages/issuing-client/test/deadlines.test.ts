/** Deadlines with random delays: a call ends in time, and reports "not-sent" only when nothing was sent. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { createIssuingClient, type IssuingClient, type IssuingError } from "../src/index.ts";
import { networkError } from "./scripted.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

const card = '{"id":"card_1","publicUrl":"https://cards.test/cards/1"}';

/** The response to one request. `null` milliseconds: never. */
interface Scenario {
  /** How long the event loop is blocked when the request is sent. */
  blockedMs: number;
  /** Correction of the date at that time. */
  correctedMs: number;
  headersMs: number | null;
  bodyMs: number | null;
  end: keyof typeof ends;
}

/** A body in two chunks: the second is delayed, or the connection is cut. */
function body(time: TestClock, text: string, bodyMs: number | null, isCut: boolean): ReadableStream {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(stream) {
      stream.enqueue(bytes.subarray(0, 5));
      if (bodyMs === null) return;
      time.after(bodyMs, () => {
        try {
          if (isCut) return stream.error(new TypeError("terminated"));
          stream.enqueue(bytes.subarray(5));
          stream.close();
        } catch {
          // The body was cancelled.
        }
      });
    },
  });
}

type End = (time: TestClock, bodyMs: number | null) => Response;
const respondWith =
  (status: number, text: string, headers: Record<string, string> = {}, isCut = false): End =>
  (time, bodyMs) =>
    new Response(body(time, text, bodyMs, isCut), { status, headers });
const failure =
  (code: string): End =>
  () => {
    throw networkError(code);
  };
const ends = {
  issued: respondWith(201, card),
  cut: respondWith(201, card, {}, true),
  noCard: respondWith(201, '{"other":1}'),
  page: respondWith(200, "<html></html>"),
  unavailable: respondWith(503, "{}"),
  unavailableForAWhile: respondWith(503, "{}", { "retry-after": "1" }),
  unavailableCut: respondWith(500, "<html></html>", {}, true),
  tooMany: respondWith(429, "{}", { "retry-after": "3" }),
  notFound: respondWith(404, "{}"),
  invalid: respondWith(422, '{"detail":"no"}'),
  reset: failure("ECONNRESET"),
  refused: failure("ECONNREFUSED"),
  notResolved: failure("ENOTFOUND"),
} satisfies Record<string, End>;
/** Failures before the request is sent. */
const neverSent: ReadonlySet<string> = new Set(["refused", "notResolved"]);

const ms = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 5_000 }));
const msOrNever = fc.oneof({ weight: 5, arbitrary: ms }, { weight: 1, arbitrary: fc.constant(null) });
const scenario: fc.Arbitrary<Scenario> = fc.record({
  blockedMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: ms }),
  correctedMs: fc.oneof(fc.constant(0), fc.integer({ min: -1e9, max: 1e9 })),
  headersMs: msOrNever,
  bodyMs: msOrNever,
  end: fc.constantFrom(...(Object.keys(ends) as (keyof typeof ends)[])),
});
const positive = fc.oneof(
  { weight: 1, arbitrary: fc.double({ min: 0.001, max: 5, noNaN: true }) },
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
);
const methods: Record<string, (client: IssuingClient) => Promise<unknown>> = {
  issueCard: (client) =>
    client.issueCard(
      "tpl_club",
      { customer: { phone: "1", consents: { privacy: { version: "1" } } } },
      { idempotencyKey: "order-1" },
    ),
  getCard: (client) => client.getCard("card_1"),
  setConsent: (client) => client.setConsent("card_1", { marketing: true }),
};

const randomCase = fc.record({
  method: fc.constantFrom(...Object.keys(methods)),
  scenarios: fc.array(scenario, { minLength: 1, maxLength: 6 }),
  maxRetries: fc.integer({ min: 0, max: 5 }),
  timeoutMs: positive,
  deadlineMs: fc.oneof(
    { weight: 4, arbitrary: positive },
    { weight: 1, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
  ),
  keyMs: fc.oneof(fc.constant(undefined), ms),
  random: fc.double({ min: 0, max: 1, noNaN: true }),
  lateMs: fc.infiniteStream(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: ms })),
});

// G6
it("ends a call before its deadline with the right outcome and number of attempts, for random responses and delays", async () => {
  await fc.assert(
    fc.asyncProperty(randomCase, async (testCase) => {
      const { scenarios, maxRetries, timeoutMs, deadlineMs, keyMs } = testCase;
      /** Time in which the event loop was blocked and no timer was called. */
      let lostMs = 0;
      const time = createTestClock(() => {
        const lateMs = Number(testCase.lateMs.next().value);
        lostMs += lateMs;
        return lateMs;
      });
      const sent: { atMs: number; end: string; signal: AbortSignal; hasResponse: boolean }[] = [];
      const client = createIssuingClient({
        baseUrl: "https://cards.test",
        apiKey: keyMs === undefined ? "k" : () => later(keyMs, () => "k"),
        testing: { clock: time, random: () => testCase.random },
        maxRetries,
        timeoutMs,
        deadlineMs,
        fetch: (_url, init) => {
          const scenario = scenarios[sent.length % scenarios.length] ?? expect.unreachable();
          const request = {
            atMs: time.monotonicMs(),
            end: scenario.end,
            signal: init?.signal ?? expect.unreachable(),
            hasResponse: false,
          };
          sent.push(request);
          time.block(scenario.blockedMs);
          time.correct(scenario.correctedMs);
          lostMs += scenario.blockedMs;
          return later(scenario.headersMs, () => {
            request.hasResponse = !request.signal.aborted; // an aborted request has no response
            return ends[scenario.end](time, scenario.bodyMs);
          });
        },
      });
      function later<Result>(ms: number | null, result: () => Result): Promise<Result> {
        return new Promise((resolve, reject) => {
          if (ms === null) return;
          time.after(ms, () => {
            try {
              resolve(result());
            } catch (error) {
              reject(error);
            }
          });
        });
      }

      const call = methods[testCase.method]?.(client) ?? expect.unreachable();
      const error: IssuingError | undefined = await time.runUntilEnd(
        call.then(
          () => undefined,
          (thrown) => thrown,
        ),
      );

      expect(sent.length).toBeLessThanOrEqual(maxRetries + 1);
      for (const { atMs } of sent) expect(atMs).toBeLessThan(deadlineMs);
      expect(time.monotonicMs()).toBeLessThanOrEqual(deadlineMs + lostMs + roundingMs);
      // An abandoned attempt must be aborted, or its connection stays open.
      for (const { hasResponse, signal } of sent) expect(hasResponse || signal.aborted).toBe(true);
      if (error === undefined) return;
      expect(error.attempts).toBe(sent.length);
      const wasNeverSent = sent.every(({ end, hasResponse }) => hasResponse && neverSent.has(end));
      expect(error.outcome === "not-sent").toBe(wasNeverSent);
    }),
    { numRuns: 500 },
  );
});

/** Rounding error of sums of milliseconds. */
const roundingMs = 1e-6;
