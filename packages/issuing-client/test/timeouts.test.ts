/** Timeouts, deadlines and aborts of a call. */
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IssuingClientOptions } from "../src/index.ts";
import {
  card,
  catchIssuingError,
  json,
  networkError,
  type Script,
  scripted,
  signUp,
  template,
} from "./scripted.ts";
import type { TestClock } from "./test-clock.ts";

const issued = () => json(card, 201);

describe("timeoutMs and deadlineMs", () => {
  const hang = () => new Promise<Response>(() => {});

  it("ends an attempt at its timeout, also while the body is read", async () => {
    const stalled = () => new Response(new ReadableStream({}), { status: 201 });
    for (const response of [hang, stalled]) {
      const { client, clock } = scripted([response], { maxRetries: 0 });
      const failure = catchIssuingError(client.issueCard(template.id, signUp, { userId: 1, timeoutMs: 500 }));
      await untilWaiting(clock);
      clock.advance(500);
      expect(await failure).toMatchObject({
        code: "timeout",
        outcome: "unknown",
        retryable: true,
        attempts: 1,
      });
      expect(clock.pendingTimers).toBe(0);
    }
  });

  // G6
  it("ends the call at its deadline: the last attempt gets the remaining time", async () => {
    const { client, clock, requests } = scripted([hang, hang, hang], { timeoutMs: 400, deadlineMs: 500 });
    const failure = catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    await untilWaiting(clock);
    clock.advance(400);
    while (requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
    expect(await failure).toMatchObject({ code: "deadline", outcome: "unknown", attempts: 2 });
    expect([requests.length, clock.pendingTimers]).toEqual([2, 0]);
  });

  it.each<[string, (block: () => void) => Partial<IssuingClientOptions>]>([
    [
      "the apiKey function",
      (block) => ({
        apiKey: async () => {
          block();
          return "k";
        },
      }),
    ],
    ["a listener", (onEvent) => ({ onEvent })],
  ])("begins no attempt after the deadline when %s blocks the event loop", async (_name, toOptions) => {
    const blocked = toOptions(() => clock.block(600)); // no timer has fired yet
    const { client, clock, requests } = scripted([], { deadlineMs: 500, ...blocked });
    expect(await catchIssuingError(client.getCard("card_1"))).toMatchObject({
      code: "deadline",
      outcome: "not-sent",
      attempts: 0,
    });
    expect(requests).toEqual([]);
  });

  it("throws the error of the last attempt when the deadline passed during it", async () => {
    const { client, clock } = scripted([
      () => {
        clock.block(600);
        throw networkError("ECONNRESET");
      },
    ]);
    const call = client.getCard("card_1", { deadlineMs: 500 });
    expect(await catchIssuingError(call)).toMatchObject({ code: "network", outcome: "unknown", attempts: 1 });
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
    const { client, clock, requests } = scripted([], {
      apiKey: () => new Promise<string>(() => {}),
      deadlineMs: 500,
    });
    const failure = catchIssuingError(client.getCard("card_1"));
    await untilWaiting(clock);
    clock.advance(500);
    expect(await failure).toMatchObject({ code: "deadline", outcome: "not-sent", attempts: 0 });
    expect(requests).toEqual([]);
  });

  async function untilWaiting(clock: TestClock) {
    while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
  }
});

it("throws the error of the last response when a pause lasted past the deadline", async () => {
  const { client, clock, requests } = scripted([json({}, 503)], {
    deadlineMs: 500,
    onEvent: ({ type }) => type === "retry" && queueMicrotask(() => clock.advance(600)),
  });
  await expect(client.getCard("card_1")).rejects.toMatchObject({ code: "server", status: 503, attempts: 1 });
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
  const hang = () => new Promise<Response>(() => {});

  it("sends nothing when the signal is aborted before the call", async () => {
    const { client, requests, events } = scripted([json(card), issued()]);
    const signal = AbortSignal.abort(reason);
    await expect(client.getCard("card_1", { signal })).rejects.toBe(reason);
    await expect(client.issueCard(template.id, signUp, { userId: 1, signal })).rejects.toBe(reason);
    expect([requests, events]).toEqual([[], []]);
  });

  it("sends no retry when a listener aborts the call before it", async () => {
    const controller = new AbortController();
    const { client, requests } = scripted([json({}, 503), json(card)], {
      onEvent: (event) => event.type === "attempt" && event.attempt === 2 && controller.abort(reason),
      testing: { clock: undefined },
    });
    await expect(client.getCard("card_1", { signal: controller.signal })).rejects.toBe(reason);
    expect(requests).toHaveLength(1);
  });

  it("sends nothing when the signal is aborted while the key is derived", async () => {
    const controller = new AbortController();
    const { client, requests, events } = scripted([issued()]);
    const call = client.issueCard(template.id, signUp, { userId: 1, signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([requests, events]).toEqual([[], []]);
  });

  it.each([
    ["in flight", [hang]],
    ["while the body is read", [() => new Response(new ReadableStream({}))]],
    ["in a pause", [() => json({}, 503)]],
  ] as [string, Script[]][])(
    "rejects the call %s with its reason, and cancels all timers",
    async (_name, script) => {
      const controller = new AbortController();
      const { client, clock } = scripted(script, { testing: { random: () => 1 }, onEvent: () => {} });
      const call = client.getCard("card_1", { signal: controller.signal });
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
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
    const { client, events } = scripted([() => new Promise<Response>(() => controller.abort(reason))]);
    const ended = client.getCard("card_1", { signal: controller.signal }).then(
      () => "nothing",
      (error) => ({ error }),
    );
    expect(await ended).toEqual({ error: reason });
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
  await new Promise((resolve) => setImmediate(resolve));
  expect([warnings, getEventListeners(signal, "abort")]).toEqual([[], []]);
});

it("ends the request over fetch when its body cannot be read, so that no connection stays open", async () => {
  const signals: AbortSignal[] = [];
  const broken = () => new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) });
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
