/** Whatever takes how long: a call ends, begins nothing after its deadline, and never calls "not-sent" what may have been done. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { createIssuingClient, type IssuingClient, type IssuingError } from "../src/index.ts";
import { networkError } from "./scripted.ts";
import { type SimulatedTime, simulatedTime } from "./simulated-time.ts";

const card = '{"id":"card_1","publicUrl":"https://cards.test/cards/1"}';

/** What happens to one request; `null` milliseconds are for ever. */
interface Fate {
  /** For how long the event loop stands still when the request goes out. */
  blockedMs: number;
  /** By how much the date is set then. */
  correctedMs: number;
  headersMs: number | null;
  bodyMs: number | null;
  end: keyof typeof ends;
}

/** The body comes in two pieces, the second later; or breaks off there. */
function body(time: SimulatedTime, text: string, bodyMs: number | null, isCut: boolean): ReadableStream {
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
          // Nobody reads any more.
        }
      });
    },
  });
}

type End = (time: SimulatedTime, bodyMs: number | null) => Response;
const answer =
  (status: number, text: string, headers: Record<string, string> = {}, isCut = false): End =>
  (time, bodyMs) =>
    new Response(body(time, text, bodyMs, isCut), { status, headers });
const failure =
  (code: string): End =>
  () => {
    throw networkError(code);
  };
const ends = {
  issued: answer(201, card),
  cut: answer(201, card, {}, true),
  noCard: answer(201, '{"other":1}'),
  page: answer(200, "<html></html>"),
  unavailable: answer(503, "{}"),
  unavailableForAWhile: answer(503, "{}", { "retry-after": "1" }),
  unavailableCut: answer(500, "<html></html>", {}, true),
  tooMany: answer(429, "{}", { "retry-after": "3" }),
  notFound: answer(404, "{}"),
  invalid: answer(422, '{"detail":"no"}'),
  reset: failure("ECONNRESET"),
  refused: failure("ECONNREFUSED"),
  notResolved: failure("ENOTFOUND"),
} satisfies Record<string, End>;
/** Nothing has left the machine. */
const neverSent: ReadonlySet<string> = new Set(["refused", "notResolved"]);

const ms = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 5_000 }));
const msOrNever = fc.oneof({ weight: 5, arbitrary: ms }, { weight: 1, arbitrary: fc.constant(null) });
const fate: fc.Arbitrary<Fate> = fc.record({
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

const situation = fc.record({
  method: fc.constantFrom(...Object.keys(methods)),
  fates: fc.array(fate, { minLength: 1, maxLength: 6 }),
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

it("a call ends in time, with as many attempts as it says, and says what may have happened", async () => {
  await fc.assert(
    fc.asyncProperty(situation, async (given) => {
      const { fates, maxRetries, timeoutMs, deadlineMs, keyMs } = given;
      /** What the client cannot help: time in which nobody was woken. */
      let lostMs = 0;
      const time = simulatedTime(() => {
        const lateMs = Number(given.lateMs.next().value);
        lostMs += lateMs;
        return lateMs;
      });
      const sent: { atMs: number; end: string; signal: AbortSignal; isAnswered: boolean }[] = [];
      const client = createIssuingClient({
        baseUrl: "https://cards.test",
        apiKey: keyMs === undefined ? "k" : () => later(keyMs, () => "k"),
        clock: time,
        random: () => given.random,
        maxRetries,
        timeoutMs,
        deadlineMs,
        fetch: (_url, init) => {
          const fate = fates[sent.length % fates.length] ?? expect.unreachable();
          const request = {
            atMs: time.monotonicMs(),
            end: fate.end,
            signal: init?.signal ?? expect.unreachable(),
            isAnswered: false,
          };
          sent.push(request);
          time.block(fate.blockedMs);
          time.correct(fate.correctedMs);
          lostMs += fate.blockedMs;
          return later(fate.headersMs, () => {
            request.isAnswered = !request.signal.aborted; // else nobody hears it
            return ends[fate.end](time, fate.bodyMs);
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

      const call = methods[given.method]?.(client) ?? expect.unreachable();
      const error: IssuingError | undefined = await time.during(
        call.then(
          () => undefined,
          (thrown) => thrown,
        ),
      );

      expect(sent.length).toBeLessThanOrEqual(maxRetries + 1);
      for (const { atMs } of sent) expect(atMs).toBeLessThan(deadlineMs);
      expect(time.monotonicMs()).toBeLessThanOrEqual(deadlineMs + lostMs + roundingMs);
      // An attempt that was given up is told so, else its connection would stay open.
      for (const { isAnswered, signal } of sent) expect(isAnswered || signal.aborted).toBe(true);
      if (error === undefined) return;
      expect(error.attempts).toBe(sent.length);
      const wasNeverSent = sent.every(({ end, isAnswered }) => isAnswered && neverSent.has(end));
      expect(error.outcome === "not-sent").toBe(wasNeverSent);
    }),
    { numRuns: 500 },
  );
});

it("no attempt begins after the deadline, however long a listener takes", async () => {
  const time = simulatedTime();
  const sentAtMs: number[] = [];
  const client = createIssuingClient({
    baseUrl: "https://cards.test",
    apiKey: "k",
    clock: time,
    deadlineMs: 100,
    onEvent: () => time.block(200),
    fetch: async () => {
      sentAtMs.push(time.monotonicMs());
      return new Response(card);
    },
  });
  await time.during(client.getCard("card_1").catch(() => {}));
  expect(sentAtMs).toEqual([]);
});

/** Sums of milliseconds are not exact to the last bit. */
const roundingMs = 1e-6;
