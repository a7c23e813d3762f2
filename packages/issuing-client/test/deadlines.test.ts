/** Timeouts, deadlines and aborts of a call. */

import { getEventListeners } from "node:events";
import {
  card,
  catchIssuingError,
  json,
  networkError,
  operationCalls,
  type Script,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import { createVirtualClock, type VirtualClock } from "@loyalty-cards/testing/virtual-clock";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type ClientEvent,
  createIssuingClient,
  type IssuingClientOptions,
  type IssuingError,
} from "../src/index.ts";

const issued = () => json(card, 201);

const hang = () => new Promise<Response>(() => {});
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("timeoutMs and deadlineMs", () => {
  it("ends an attempt at its timeout, also while the body is read", async () => {
    const stalled = () => new Response(new ReadableStream({}), { status: 201 });
    for (const response of [hang, stalled]) {
      const { client, clock } = scripted([response], { maxRetries: 0 });
      const failure = catchIssuingError(
        client.issueCard(template.id, signUp, { userId: 1, timeoutMs: 500 }),
      );
      const message = expect.stringContaining("did not respond in time (timeoutMs: 500).");
      const expected = {
        code: "timeout",
        outcome: "unknown",
        retryable: true,
        attempts: 1,
        message,
      };
      expect(await clock.run(failure)).toMatchObject(expected);
      expect([clock.monotonicMs(), clock.pendingTimers]).toEqual([500, 0]);
    }
  });

  // G6
  it.each([
    [400, 2],
    [500, 1],
  ])(
    "ends the call at its deadline: with a timeout of %i ms after %i attempts",
    async (timeoutMs, attempts) => {
      const { client, clock, requests } = scripted([hang, hang, hang], {
        timeoutMs,
        deadlineMs: 500,
      });
      const failure = catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
      const message = expect.stringContaining(
        "did not succeed before its deadline (deadlineMs: 500).",
      );
      const expected = { code: "deadline", outcome: "unknown", attempts, message };
      expect(await clock.run(failure)).toMatchObject(expected);
      expect([clock.monotonicMs(), requests.length, clock.pendingTimers]).toEqual([
        500,
        attempts,
        0,
      ]);
    },
  );

  const notBegun = { code: "deadline", outcome: "not-sent", attempts: 0 };

  it.each<[string, (block: () => void) => Partial<IssuingClientOptions>]>([
    [
      "the apiKey function",
      (block) => ({ apiKey: () => Promise.resolve(block()).then(() => "k") }),
    ],
    ["a listener", (onEvent) => ({ onEvent })],
  ])(
    "begins no attempt after the deadline when %s blocks the event loop",
    async (_name, toOptions) => {
      const blocked = toOptions(() => clock.block(600)); // no timer has fired yet
      const { client, clock, requests } = scripted([], { deadlineMs: 500, ...blocked });
      expect(await catchIssuingError(client.getCard("card_1"))).toMatchObject(notBegun);
      expect(requests).toEqual([]);
    },
  );

  it("throws the error of the last attempt when the deadline passed during it", async () => {
    const { client, clock } = scripted([
      () => {
        clock.block(600);
        throw networkError("ECONNRESET");
      },
    ]);
    const call = client.getCard("card_1", { deadlineMs: 500 });
    expect(await catchIssuingError(call)).toMatchObject({
      code: "network",
      outcome: "unknown",
      attempts: 1,
    });
  });

  it("does not change the deadline when the date is corrected", async () => {
    const { client, clock } = scripted([
      () => {
        clock.correct(3_600_000);
        return json({}, 503);
      },
      json(card),
    ]);
    expect((await client.getCard("card_1")).id).toBe("card_1");
  });

  it("ends a call whose apiKey function does not resolve, at the deadline", async () => {
    const apiKey = () => new Promise<string>(() => {});
    const { client, clock, requests } = scripted([], { apiKey, deadlineMs: 500 });
    clock.block(60_000); // before the call
    const failure = catchIssuingError(client.getCard("card_1"));
    expect(await clock.run(failure)).toMatchObject(notBegun);
    expect(clock.monotonicMs()).toBe(60_500);
    expect(requests).toEqual([]);
  });
});

it("throws the error of the last response when a pause lasted past the deadline", async () => {
  const { client, clock, requests } = scripted([json({}, 503)], {
    deadlineMs: 500,
    onEvent: ({ type }) => type === "retry" && queueMicrotask(() => clock.advance(600)),
  });
  await expect(client.getCard("card_1")).rejects.toMatchObject({
    code: "server",
    status: 503,
    attempts: 1,
  });
  expect(requests).toHaveLength(1);
});

it("sends nothing when the process was blocked past the deadline while the key was derived", async () => {
  const { client, clock, requests } = scripted([issued()]);
  const call = client.issueCard(template.id, signUp, { userId: 1, deadlineMs: 500 });
  clock.block(700);
  await expect(call).rejects.toMatchObject({ code: "deadline", outcome: "not-sent", attempts: 0 });
  expect(requests).toEqual([]);
});

describe("the caller's abort", () => {
  const reason = new Error("the user left");

  it("sends nothing when the signal is aborted before the call", async () => {
    const { client, requests, events } = scripted([json(card), issued()]);
    const signal = AbortSignal.abort(reason);
    await expect(client.getCard("card_1", { signal })).rejects.toBe(reason);
    await expect(client.issueCard(template.id, signUp, { userId: 1, signal })).rejects.toBe(reason);
    expect([requests, events]).toEqual([[], []]);
  });

  it("sends nothing when the signal is aborted while the key is derived", async () => {
    const controller = new AbortController();
    const { client, requests, events } = scripted([issued()]);
    const call = client.issueCard(template.id, signUp, { userId: 1, signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(requests).toEqual([]);
    expect(events).toMatchObject([{ type: "abort", attempts: 0 }]);
  });

  it("ends with one event when a listener aborts the call, or its time is over, before a request is sent", async () => {
    const controller = new AbortController();
    const events: ClientEvent[] = [];
    const { client, requests } = scripted([issued()], {
      onEvent(event) {
        events.push(event);
        controller.abort(reason);
      },
    });
    await expect(client.getCard("card_1", { signal: controller.signal })).rejects.toBe(reason);
    expect(events.map(({ type }) => type)).toEqual(["attempt", "abort"]);
    const late = scripted([]);
    const error = await catchIssuingError(late.client.getCard("card_1", { deadlineMs: 0.5 }));
    expect(error).toMatchObject({ code: "deadline", outcome: "not-sent" });
    expect(late.events).toMatchObject([{ type: "failure", code: "deadline", attempts: 0 }]);
    expect([requests, late.requests]).toEqual([[], []]);
  });

  it.each([
    ["in flight", [hang]],
    ["while the body is read", [() => new Response(new ReadableStream({}))]],
    ["in a pause", [() => json({}, 503)]],
  ] as [string, Script[]][])(
    "rejects the call %s with its reason, and cancels all timers",
    async (_name, script) => {
      const controller = new AbortController();
      const { client, clock } = scripted(script, {
        testing: { random: () => 1 },
        onEvent: () => {},
      });
      const call = client.getCard("card_1", { signal: controller.signal });
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      expect(clock.pendingTimers).toBe(1); // of the attempt, or of the pause
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(clock.pendingTimers).toBe(0);
    },
  );
});

it("rejects with the abort reason itself, whatever it is, and emits an abort", async () => {
  const ofAnotherCall = await catchIssuingError(scripted([json({}, 404)]).client.getCard("card_2"));
  for (const reason of [null, 0, "", false, ofAnotherCall]) {
    const controller = new AbortController();
    const { client, events } = scripted([
      () => new Promise<Response>(() => controller.abort(reason)),
    ]);
    const call = client.getCard("card_1", { signal: controller.signal });
    await expect(call).rejects.toBe(reason);
    expect(events).toMatchObject([{ type: "attempt" }, { type: "abort", attempts: 1 }]);
  }
});

it("does not warn of a leak when many calls share a signal, and removes each listener", async () => {
  const { signal } = new AbortController();
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const { client } = scripted(Array.from({ length: 100 }, () => () => json(card)));
  await Promise.all(Array.from({ length: 100 }, () => client.getCard("card_1", { signal })));
  await nextTurn();
  expect([warnings, getEventListeners(signal, "abort")]).toEqual([[], []]);
});

it("takes a signal that is not Node's own, as those of jsdom and happy-dom", async () => {
  const { signal } = new AbortController();
  const foreign = {
    get aborted() {
      return signal.aborted;
    },
    throwIfAborted: () => signal.throwIfAborted(),
    addEventListener: (type: string, listener: () => void) =>
      signal.addEventListener(type, listener),
    removeEventListener: (type: string, listener: () => void) =>
      signal.removeEventListener(type, listener),
  };
  const { client } = scripted([json(card)]);
  expect(await client.getCard("card_1", { signal: foreign as never })).toEqual(card);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("ends the request over fetch when its body cannot be read, so that no connection stays open", async () => {
  const signals: AbortSignal[] = [];
  const broken = () =>
    new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) });
  const { client } = scripted([], {
    maxRetries: 0,
    fetch: async (_url, { signal }) => {
      signals.push(signal);
      return new Response(broken(), { status: 201 });
    },
  });
  expect(await catchIssuingError(client.getCard("card_1"))).toMatchObject({ code: "network" });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

const issuedCard = JSON.stringify(card);

// With random delays: a call ends in time, and reports "not-sent" only when nothing was sent.

/** A body in two chunks: the second is delayed, or the connection is cut. */
function body(
  time: VirtualClock,
  text: string,
  bodyMs: number | null,
  isCut: boolean,
): ReadableStream {
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

type End = (time: VirtualClock, bodyMs: number | null) => Response;
const respondWith =
  (status: number, text: string, headers: Record<string, string> = {}, isCut = false): End =>
  (time, bodyMs) =>
    new Response(body(time, text, bodyMs, isCut), { status, headers });
const failWith =
  (code: string): End =>
  () => {
    throw networkError(code);
  };
const ends = {
  issued: respondWith(201, issuedCard),
  cut: respondWith(201, issuedCard, {}, true),
  noCard: respondWith(201, '{"other":1}'),
  page: respondWith(200, "<html></html>"),
  unavailable: respondWith(503, "{}"),
  unavailableForAWhile: respondWith(503, "{}", { "retry-after": "1" }),
  unavailableCut: respondWith(500, "<html></html>", {}, true),
  tooMany: respondWith(429, "{}", { "retry-after": "3" }),
  notFound: respondWith(404, "{}"),
  invalid: respondWith(422, '{"detail":"no"}'),
  reset: failWith("ECONNRESET"),
  refused: failWith("ECONNREFUSED"),
  notResolved: failWith("ENOTFOUND"),
} satisfies Record<string, End>;
/** Failures before the request is sent. */
const neverSent: ReadonlySet<string> = new Set(["refused", "notResolved"]);

const ms = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 50 }),
  fc.integer({ min: 0, max: 5_000 }),
);
const msOrNever = fc.oneof(
  { weight: 5, arbitrary: ms },
  { weight: 1, arbitrary: fc.constant(null) },
);
/** The response to one request. `null` milliseconds: never. */
const scenario = fc.record({
  /** How long the event loop is blocked when the request is sent. */
  blockedMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: ms }),
  /** Correction of the date at that time. */
  correctedMs: fc.oneof(fc.constant(0), fc.integer({ min: -1e9, max: 1e9 })),
  headersMs: msOrNever,
  bodyMs: msOrNever,
  end: fc.constantFrom(...(Object.keys(ends) as (keyof typeof ends)[])),
});
const positive = fc.oneof(
  { weight: 1, arbitrary: fc.double({ min: 0.001, max: 5, noNaN: true }) },
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
);
const randomCase = fc.record({
  call: fc.constantFrom(...Object.values(operationCalls)),
  scenarios: fc.array(scenario, { minLength: 1, maxLength: 6 }),
  maxRetries: fc.integer({ min: 0, max: 5 }),
  timeoutMs: positive,
  deadlineMs: fc.oneof(
    { weight: 4, arbitrary: positive },
    { weight: 1, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
  ),
  keyMs: fc.oneof(fc.constant(undefined), ms),
  random: fc.double({ min: 0, max: 1, noNaN: true }),
  lateMs: fc.infiniteStream(
    fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: ms }),
  ),
});

// G6
it("ends a call before its deadline with the right outcome and number of attempts, for random responses and delays", async () => {
  await fc.assert(
    fc.asyncProperty(randomCase, async (testCase) => {
      const { scenarios, maxRetries, timeoutMs, deadlineMs, keyMs } = testCase;
      /** Time in which the event loop was blocked and no timer was called. */
      let lostMs = 0;
      const time = createVirtualClock(() => {
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
          const signal = init?.signal ?? expect.unreachable();
          const request = {
            atMs: time.monotonicMs(),
            end: scenario.end,
            signal,
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
      const later = <Result>(ms: number | null, result: () => Result): Promise<Result> =>
        new Promise<void>((resolve) => void (ms !== null && time.after(ms, resolve))).then(result);

      const ended = testCase.call(client).then(
        () => undefined,
        (thrown: IssuingError) => thrown,
      );
      const error = await time.run(ended);

      expect(sent.length).toBeLessThanOrEqual(maxRetries + 1);
      for (const { atMs } of sent) expect(atMs).toBeLessThan(deadlineMs);
      expect(time.monotonicMs()).toBeLessThanOrEqual(deadlineMs + lostMs + 1e-6); // the rounding error of sums;
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
