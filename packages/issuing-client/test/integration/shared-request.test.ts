/** Callers that share a request, over real sockets and with a test clock: each has its own deadline, card and error. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CallOptions,
  type Card,
  createIssuingClient,
  type IssuingClientOptions,
  type IssuingError,
  type ProblemError,
  type ResponseMeta,
} from "../../src/index.ts";
import { signUp, template } from "../scripted.ts";
import { listen } from "../server.ts";
import { createTestClock } from "../test-clock.ts";

interface Received {
  request: IncomingMessage;
  response: ServerResponse;
  isClosed: boolean;
}

const card = { id: "card_1", publicUrl: "https://cards.test/1", fieldValues: { name: "Anna" } };
const oneKey = { idempotencyKey: "user-7" };

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

describe.each(["node:http", "fetch"] as const)("over %s", (over) => {
  /** A service whose responses the test sends. */
  async function open(options: Partial<IssuingClientOptions> = {}) {
    const received: Received[] = [];
    const server = createServer((request, response) => {
      const entry = { request, response, isClosed: false };
      response.on("close", () => {
        entry.isClosed = true;
      });
      request.resume().on("end", () => received.push(entry));
    });
    const clock = createTestClock();
    const client = createIssuingClient({
      baseUrl: `http://127.0.0.1:${await listen(server)}`,
      apiKey: "k",
      testing: { clock, random: () => 0 },
      ...(over === "fetch" && { fetch }),
      ...options,
    });
    const issue = (own: CallOptions = {}) => client.issueCard(template.id, signUp, { ...oneKey, ...own });
    const receivedCount = (count: number) => until(() => received.length === count);
    const respond = (index: number, status = 201, body: unknown = card, headers = {}) =>
      void received[index]?.response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(body));
    return { client, clock, received, receivedCount, respond, issue };
  }

  const settled = (call: Promise<Card>) =>
    call.then(
      (value) => value,
      (error: IssuingError) => error,
    );

  it("returns the card to a caller with a longer deadline after the first caller's deadline", async () => {
    const { issue, clock, received, receivedCount, respond } = await open();
    const first = settled(issue({ deadlineMs: 1_000 }));
    await receivedCount(1);
    const second = settled(issue({ deadlineMs: 5_000 }));
    await until(() => clock.pendingTimers === 3); // two deadlines and one attempt
    clock.advance(1_000);
    expect(await first).toMatchObject({
      code: "deadline",
      outcome: "unknown",
      attempts: 1,
      retryable: true,
      idempotencyKey: "user-7",
    });
    respond(0);
    expect(await second).toEqual(card);
    expect([received.length, clock.pendingTimers]).toEqual([1, 0]);
  });

  it("continues for the first caller after the deadline of a caller with a shorter one", async () => {
    const { issue, clock, received, receivedCount, respond } = await open();
    const first = settled(issue({ deadlineMs: 5_000 }));
    await receivedCount(1);
    const second = settled(issue({ deadlineMs: 1_000 }));
    await until(() => clock.pendingTimers === 3);
    clock.advance(1_000);
    expect(await second).toMatchObject({ code: "deadline", outcome: "unknown", attempts: 1 });
    respond(0);
    expect(await first).toEqual(card);
    expect([received.length, clock.pendingTimers]).toEqual([1, 0]);
  });

  it("retries until the latest deadline of all callers", async () => {
    const { issue, clock, received, receivedCount, respond } = await open();
    const first = settled(issue({ deadlineMs: 1_000 }));
    await receivedCount(1);
    const second = settled(issue({ deadlineMs: 10_000 }));
    await until(() => clock.pendingTimers === 3);
    respond(0, 503, {}, { "retry-after": "2" });
    await until(() => received[0]?.isClosed === true);
    clock.advance(1_000);
    expect(await first).toMatchObject({ code: "deadline", outcome: "unknown", attempts: 1 });
    clock.advance(1_000);
    await receivedCount(2);
    respond(1);
    expect(await second).toEqual(card);
  });

  it("aborts the request when the last caller has left, and sends a new one for the next call", async () => {
    const { issue, clock, received, receivedCount, respond } = await open();
    const controller = new AbortController();
    const first = settled(issue({ deadlineMs: 1_000 }));
    await receivedCount(1);
    const second = issue({ deadlineMs: 5_000, signal: controller.signal });
    await until(() => clock.pendingTimers === 3);
    clock.advance(1_000);
    expect(await first).toMatchObject({ code: "deadline" });
    expect(received[0]?.isClosed).toBe(false);
    const reason = new Error("left");
    controller.abort(reason);
    await expect(second).rejects.toBe(reason);
    await until(() => received[0]?.isClosed === true);
    expect(clock.pendingTimers).toBe(0);
    const third = issue();
    await receivedCount(2);
    respond(1);
    expect(await third).toEqual(card);
  });

  it("reports not-sent while the API key is read", async () => {
    const { issue, clock, received } = await open({ apiKey: () => new Promise<string>(() => {}) });
    const calls = [issue({ deadlineMs: 1_000 }), issue({ deadlineMs: 2_000 })].map(settled);
    await until(() => clock.pendingTimers === 2);
    clock.advance(1_000);
    expect(await calls[0]).toMatchObject({ code: "deadline", outcome: "not-sent", attempts: 0 });
    clock.advance(1_000);
    expect(await calls[1]).toMatchObject({ code: "deadline", outcome: "not-sent", attempts: 0 });
    expect(received).toEqual([]);
  });

  it("returns each caller its own card", async () => {
    const { issue, received, receivedCount, respond } = await open();
    const mutate = (own: Card) => {
      own.fieldValues["name"] = "Eve";
      return own;
    };
    const calls = [issue().then(mutate), issue(), issue().then(mutate), issue()];
    await receivedCount(1);
    respond(0);
    const [, second, , fourth] = await Promise.all(calls);
    expect([second, fourth]).toEqual([card, card]);
    expect(received).toHaveLength(1);
  });

  it("gives each caller its own headers and its own error", async () => {
    const { issue, receivedCount, respond } = await open();
    const metas: ResponseMeta[] = [];
    const onResponse = (meta: ResponseMeta) => {
      metas.push({ ...meta, requestId: meta.headers.get("x-own") ?? "none" });
      meta.headers.set("x-own", "changed");
    };
    const mutate = (error: ProblemError) => {
      (error.problem["errors"] as unknown[]).push("changed");
      Object.assign(error, { code: "changed" });
      throw error;
    };
    const first = issue({ onResponse }).catch(mutate);
    const second = issue({ onResponse });
    const problem = { detail: "Please fill in the name.", errors: [{ pointer: "/name" }] };
    await receivedCount(1);
    respond(0, 422, problem);
    const [one, other] = await Promise.all([first, second].map(settled));
    expect(one).not.toBe(other);
    expect(other).toMatchObject({ code: "validation", userMessage: problem.detail });
    expect((other as unknown as ProblemError).problem["errors"]).toEqual(problem.errors);
    expect(metas.map(({ requestId }) => requestId)).toEqual(["none", "none"]);
  });

  it("throws each caller its own network error with its own cause", async () => {
    const { issue, received, receivedCount } = await open({ maxRetries: 0 });
    const calls = [issue(), issue()].map(settled);
    await receivedCount(1);
    received[0]?.request.socket.destroy();
    const [one, other] = (await Promise.all(calls)) as unknown as IssuingError[];
    expect([one, other].map((error) => error?.code)).toEqual(["network", "network"]);
    expect(one).not.toBe(other);
    expect(one?.cause).toBeInstanceOf(Error);
    expect(one?.cause).not.toBe(other?.cause);
  });

  it("throws each caller its own error when the apiKey function fails", async () => {
    const { issue } = await open({ apiKey: () => Promise.reject(new Error("vault")) });
    const [one, other] = (await Promise.all([issue(), issue()].map(settled))) as unknown as IssuingError[];
    expect([one, other]).toMatchObject([{ code: "configuration" }, { code: "configuration" }]);
    expect(one).not.toBe(other);
  });

  it("shares a request when the headers differ, and sends those of the first caller", async () => {
    const { issue, received, receivedCount, respond } = await open();
    const calls = ["00-a", "00-b"].map((traceparent) => issue({ headers: { traceparent } }));
    await receivedCount(1);
    respond(0);
    await Promise.all(calls);
    expect(received.map(({ request }) => request.headers["traceparent"])).toEqual(["00-a"]);
  });

  it("applies the longest timeoutMs, also of a caller that joins during the attempt", async () => {
    const { issue, clock, received, receivedCount, respond } = await open({ maxRetries: 0 });
    const first = issue({ timeoutMs: 1_000 });
    await receivedCount(1);
    const second = issue({ timeoutMs: 3_000 });
    await until(() => clock.pendingTimers === 3);
    clock.advance(1_000);
    expect(clock.pendingTimers).toBe(3);
    clock.advance(1_999);
    respond(0);
    expect(await Promise.all([first, second])).toEqual([card, card]);
    expect([received.length, clock.pendingTimers]).toEqual([1, 0]);
  });

  it("applies the greatest maxRetries", async () => {
    const { issue, clock, receivedCount, respond } = await open();
    const first = issue({ maxRetries: 0 });
    await receivedCount(1);
    const second = issue({ maxRetries: 1 });
    await until(() => clock.pendingTimers === 3);
    respond(0, 503, {});
    await until(() => clock.pendingTimers === 3);
    const retried = receivedCount(2);
    while (!(await Promise.race([retried.then(() => true), immediate().then(() => false)]))) clock.advance(1);
    respond(1);
    expect(await Promise.all([first, second])).toEqual([card, card]);
  });

  it("gives each caller with a random deadline or abort a card or its own error", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            deadlineMs: fc.integer({ min: 1, max: 6 }).map((steps) => steps * 100),
            abortAtMs: fc.option(fc.integer({ min: 0, max: 6 }).map((steps) => steps * 100 + 50)),
            joinsAtMs: fc.integer({ min: 0, max: 3 }).map((steps) => steps * 100 + 10),
          }),
          { minLength: 1, maxLength: 100 },
        ),
        fc.constantFrom(201, 422, 404),
        fc.integer({ min: 0, max: 7 }).map((steps) => steps * 100 + 20),
        async (callers, status, respondsAtMs) => {
          const { issue, clock, received, respond } = await open({ maxRetries: 0 });
          const calls: Call[] = [];
          for (let nowMs = 0; nowMs <= 1_000; nowMs += 10) {
            for (const { deadlineMs, abortAtMs, joinsAtMs } of callers) {
              if (joinsAtMs !== nowMs || respondsAtMs <= nowMs) continue;
              const controller = new AbortController();
              const endsAtMs = joinsAtMs + deadlineMs;
              const isAborted = abortAtMs !== null && abortAtMs > joinsAtMs && abortAtMs < endsAtMs;
              const reason = isAborted ? new Error("left") : undefined;
              const call: Call = {
                joinsAtMs,
                leavesAtMs: isAborted ? abortAtMs : endsAtMs,
                reason,
                end: undefined,
              };
              calls.push(call);
              const cancelAbort = isAborted
                ? clock.after(abortAtMs - nowMs, () => controller.abort(reason))
                : () => {};
              settled(issue({ deadlineMs, signal: controller.signal })).then((end) => {
                cancelAbort();
                call.end = end;
              });
            }
            await until(() => received.length === requestsFor(calls));
            if (nowMs === respondsAtMs) {
              respond(received.length - 1, status);
              await until(() =>
                calls.every(({ leavesAtMs, end }) => leavesAtMs <= nowMs || end !== undefined),
              );
            }
            clock.advance(10);
          }
          await until(() => calls.every(({ end }) => end !== undefined));
          for (const { leavesAtMs, reason, end } of calls) {
            if (leavesAtMs > respondsAtMs) {
              if (status === 201) expect(end).toEqual(card);
              else expect(end).toMatchObject({ status });
            } else if (reason !== undefined) {
              expect(end).toBe(reason);
            } else {
              expect(end).toMatchObject({ code: "deadline", outcome: "unknown", attempts: 1 });
            }
          }
          expect(new Set(calls.map(({ end }) => end)).size).toBe(calls.length);
          expect(received).toHaveLength(requestsFor(calls));
          expect(clock.pendingTimers).toBe(0);
        },
      ),
      { numRuns: 20 },
    );
  });
});

const immediate = () => new Promise((resolve) => setImmediate(resolve));

interface Call {
  joinsAtMs: number;
  /** Its deadline, or when it aborts. */
  leavesAtMs: number;
  reason: Error | undefined;
  /** The card or the error. */
  end: unknown;
}

/** The number of requests: one for each caller that joined while no other caller was waiting. */
function requestsFor(calls: readonly Call[]): number {
  let [count, waitedForUntilMs] = [0, 0];
  for (const { joinsAtMs, leavesAtMs } of calls) {
    if (joinsAtMs >= waitedForUntilMs) count += 1;
    waitedForUntilMs = Math.max(waitedForUntilMs, leavesAtMs);
  }
  return count;
}
