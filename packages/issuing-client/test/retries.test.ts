/** When a call goes out again, with what, and what its error says about whether a card may exist. */
import { describe, expect, it } from "vitest";
import { defineTemplate, type IssuingError, isIssuingError, ProblemError } from "../src/index.ts";
import { card, json, networkError, type Script, scripted, signUp, template } from "./scripted.ts";

const issued = () => json(card, 201);
const odd = { type: "default", headers: new Headers(), body: null, text: async () => "{}" };
const html = (status: number) => new Response("<html>", { status, headers: { "content-type": "text/html" } });

async function failureOf(promise: Promise<unknown>): Promise<IssuingError> {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  if (!isIssuingError(error)) throw new Error(`not an IssuingError: ${error}`);
  return error;
}

const issue = (script: readonly Script[], options = {}) => {
  const run = scripted(script, options);
  return { ...run, result: run.client.issueCard(template.id, signUp, { idempotencyKey: "order-1" }) };
};

describe("a call goes out again with the same key and body after", () => {
  const faults: [string, () => Script][] = [
    ...[408, 425, 429, 500, 502, 503, 504, 599].map((status): [string, () => Script] => [
      `${status}`,
      () => json({}, status),
    ]),
    ["an HTML error page", () => html(502)],
    ["a reset connection", () => networkError("ECONNRESET")],
    ["a refused connection", () => networkError("ECONNREFUSED")],
    ["201 with HTML", () => html(201)],
    ["201 with half a body", () => new Response('{"id":"card_', { status: 201 })],
    ["201 without a body", () => new Response(null, { status: 201 })],
    ["204", () => new Response(null, { status: 204 })],
    ["a status that there is not", () => ({ ...odd, status: 799 }) as unknown as Response],
    [
      "201 with a body that breaks",
      () =>
        new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) }), {
          status: 201,
        }),
    ],
  ];

  it.each(faults)("%s", async (_name, fault) => {
    const { result, requests } = issue([fault(), fault(), issued()]);
    expect((await result).id).toBe("card_1");
    expect(requests.map(({ headers }) => headers.get("idempotency-key"))).toEqual([
      "order-1",
      "order-1",
      "order-1",
    ]);
    expect(await Promise.all(requests.map((request) => request.json()))).toEqual([signUp, signUp, signUp]);
  });
});

describe("a call does not go out again after", () => {
  it.each([400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 501])("%i", async (status) => {
    const { result, requests } = issue([json({}, status), issued()]);
    await expect(result).rejects.toBeInstanceOf(ProblemError);
    expect(requests).toHaveLength(1);
  });

  it.each([301, 302, 303, 307, 308])("%i, and nothing is sent to the other address", async (status) => {
    const { result, requests } = issue([
      new Response(null, { status, headers: { location: "https://evil.test/" } }),
    ]);
    const error = await failureOf(result);
    expect(error).toMatchObject({ code: "invalid-response", retryable: false, attempts: 1 });
    expect(error.message).toMatch(/baseUrl/);
    expect(requests.map(({ url, redirect }) => [new URL(url).host, redirect])).toEqual([
      ["cards.test", "manual"],
    ]);
  });
});

describe("the number of retries", () => {
  it("is 2 unless said otherwise, for the client or for one call", async () => {
    const down = () => Array.from({ length: 9 }, () => json({}, 503));
    const { client, requests } = scripted(down());
    await failureOf(client.getCard("card_1"));
    expect(requests).toHaveLength(3);
    await failureOf(client.getCard("card_1", { maxRetries: 0 }));
    expect(requests).toHaveLength(4);
    const patient = scripted(down(), { maxRetries: 4 });
    await failureOf(patient.client.getCard("card_1"));
    expect(patient.requests).toHaveLength(5);
  });
});

describe("the pause before a retry", () => {
  async function pausesOf(script: Script[], random: () => number, options = {}) {
    const { client, events } = scripted(script, { random, maxRetries: 6, deadlineMs: 100_000, ...options });
    await client.getCard("card_1").catch(() => {});
    return events.flatMap((event) => (event.type === "retry" ? event.pauseMs : []));
  }
  const down = () => Array.from({ length: 7 }, () => json({}, 503));

  it("doubles up to 5 s, and is drawn between 0 and that from the first one on", async () => {
    expect(await pausesOf(down(), () => 1)).toEqual([300, 600, 1200, 2400, 4800, 5000]);
    expect(await pausesOf(down(), () => 0.5)).toEqual([150, 300, 600, 1200, 2400, 2500]);
    expect(await pausesOf(down(), () => 0)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it.each([
    ["2", 2000],
    ["0", 0],
    ["Sun, 01 Mar 2026 12:00:03 GMT", 3000],
    ["Sun, 01 Mar 2026 11:00:00 GMT", 0],
    ["Sunday, 01-Mar-26 12:00:03 GMT", 3000],
    ["Sun Mar  1 12:00:03 2026", 3000],
  ])("is what Retry-After asks for: %s", async (value, ms) => {
    expect(await pausesOf([json({}, 503, { "retry-after": value }), json(card)], () => 1)).toEqual([ms]);
  });

  it.each(["soon", "-1", "1.5", "1e3", "", "2026-03-01T12:00:03Z", "Sun, 01 Foo 2026 12:00:03 GMT", "1, 2"])(
    "is our own when Retry-After is malformed: %j",
    async (value) => {
      expect(await pausesOf([json({}, 503, { "retry-after": value }), json(card)], () => 1)).toEqual([300]);
    },
  );

  it.each(["3600", "31536000", "999999999999"])("of Retry-After: %s fits no deadline", async (value) => {
    const { client } = scripted([json({}, 503, { "retry-after": value })]);
    const error = await failureOf(client.getCard("card_1"));
    expect([error.attempts, error.retryAfterMs]).toEqual([1, Number(value) * 1000]);
  });

  it("that would pass the deadline is not begun: the call fails at once and tells how long to wait", async () => {
    const { client, requests, clock } = scripted([json({}, 503, { "retry-after": "3600" })]);
    const before = clock.now();
    const error = await failureOf(client.getCard("card_1"));
    expect(error).toMatchObject({ code: "server", retryAfterMs: 3_600_000, retryable: true, attempts: 1 });
    expect([clock.now() - before, requests.length]).toEqual([0, 1]);
  });

  it("that would end just at the deadline is not begun either", async () => {
    const { client, events } = scripted([json({}, 503, { "retry-after": "2" })], { deadlineMs: 2000 });
    expect(await failureOf(client.getCard("card_1"))).toMatchObject({ code: "server", attempts: 1 });
    expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
  });
});

describe("the time of a call", () => {
  const hang = () => new Promise<Response>(() => {});

  it("is bounded per attempt, body included", async () => {
    const stalled = () => new Response(new ReadableStream({}), { status: 201 });
    for (const fault of [hang, stalled]) {
      const { client, clock } = scripted([fault], { maxRetries: 0 });
      const failure = failureOf(client.issueCard(template.id, signUp, { userId: 1, timeoutMs: 500 }));
      await untilWaiting(clock);
      clock.advance(500);
      expect(await failure).toMatchObject({
        code: "timeout",
        outcome: "unknown",
        retryable: true,
        attempts: 1,
      });
      expect(clock.waiting).toBe(0);
    }
  });

  it("is bounded as a whole: the last attempt gets what is left", async () => {
    const { client, clock, requests } = scripted([hang, hang, hang], { timeoutMs: 400, deadlineMs: 500 });
    const failure = failureOf(client.issueCard(template.id, signUp, { userId: 1 }));
    await untilWaiting(clock);
    clock.advance(400);
    while (requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
    expect(await failure).toMatchObject({ code: "deadline", outcome: "unknown", attempts: 2 });
    expect([requests.length, clock.waiting]).toEqual([2, 0]);
  });

  it("covers a schema that does not end, and so does an abort", async () => {
    const endless = {
      "~standard": { version: 1, vendor: "test", validate: () => new Promise<never>(() => {}) },
    } as const;
    const slow = defineTemplate("tpl_slow", endless as never);
    const { client, clock, requests } = scripted([]);
    const late = failureOf(client.issueCard(slow, { ...signUp } as never, { userId: 1, deadlineMs: 500 }));
    await untilWaiting(clock);
    clock.advance(500);
    expect(await late).toMatchObject({ code: "deadline", outcome: "not-sent" });
    const reason = new Error("left");
    const controller = new AbortController();
    const aborted = client.issueCard(slow, { ...signUp } as never, { userId: 1, signal: controller.signal });
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect([requests.length, clock.waiting]).toEqual([0, 0]);
  });

  it("begins no attempt once it is over, whatever took so long", async () => {
    const { client, clock, requests } = scripted([], {
      deadlineMs: 500,
      apiKey: async () => {
        clock.jump(600); // the event loop was blocked: no timer has fired yet
        return "k";
      },
    });
    expect(await failureOf(client.getCard("card_1"))).toMatchObject({
      code: "deadline",
      outcome: "not-sent",
      attempts: 0,
    });
    expect(requests).toEqual([]);
  });

  it("does not hide why the last attempt failed", async () => {
    const { client, clock } = scripted([
      () => {
        clock.jump(600);
        throw networkError("ECONNRESET");
      },
    ]);
    const call = client.getCard("card_1", { deadlineMs: 500 });
    expect(await failureOf(call)).toMatchObject({ code: "network", outcome: "unknown", attempts: 1 });
  });

  it("is not shortened or lengthened when the date is corrected", async () => {
    const { client, clock } = scripted([
      () => {
        clock.correct(3_600_000);
        return json({}, 503);
      },
      json(card),
    ]);
    expect((await client.getCard("card_1")).id).toBe("card_1");
  });

  it("covers the look-up of the key, before anything is sent", async () => {
    const { client, clock, requests } = scripted([], {
      apiKey: () => new Promise<string>(() => {}),
      deadlineMs: 500,
    });
    const failure = failureOf(client.getCard("card_1"));
    await untilWaiting(clock);
    clock.advance(500);
    expect(await failure).toMatchObject({ code: "deadline", outcome: "not-sent", attempts: 0 });
    expect(requests).toEqual([]);
  });

  async function untilWaiting(clock: { waiting: number }) {
    while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
  }
});

it("a pause that lasted past the deadline ends with what the service said last", async () => {
  const { client, clock, requests } = scripted([json({}, 503)], {
    deadlineMs: 500,
    onEvent: ({ type }) => type === "retry" && queueMicrotask(() => clock.advance(600)),
  });
  await expect(client.getCard("card_1")).rejects.toMatchObject({ code: "server", status: 503, attempts: 1 });
  expect(requests).toHaveLength(1);
});

it("a process that was busy past the deadline while the key was derived sends nothing", async () => {
  const { client, clock, requests } = scripted([issued()]);
  const call = client.issueCard(template.id, signUp, { userId: 1, deadlineMs: 500 });
  clock.jump(700);
  await expect(call).rejects.toMatchObject({ code: "deadline", outcome: "not-sent", attempts: 0 });
  expect(requests).toEqual([]);
});

describe("the caller's abort", () => {
  const reason = new Error("the user left");
  const hang = () => new Promise<Response>(() => {});

  it("before the call sends nothing, and is no attempt", async () => {
    const { client, requests, events } = scripted([json(card), issued()]);
    const signal = AbortSignal.abort(reason);
    await expect(client.getCard("card_1", { signal })).rejects.toBe(reason);
    await expect(client.issueCard(template.id, signUp, { userId: 1, signal })).rejects.toBe(reason);
    expect([requests, events]).toEqual([[], []]);
  });

  it("while the key is derived sends nothing either", async () => {
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
    "%s rejects with its reason and leaves nothing behind",
    async (_name, script) => {
      const controller = new AbortController();
      const { client, clock } = scripted(script, { random: () => 1, onEvent: () => {} });
      const call = client.getCard("card_1", { signal: controller.signal });
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(clock.waiting).toBe(2); // the deadline, and the attempt or the pause
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(clock.waiting).toBe(0);
    },
  );
});

describe("the outcome of a call", () => {
  const cases: [string, Script[], string, string][] = [
    ["a refused connection, always", Array(3).fill(networkError("ECONNREFUSED")), "network", "not-sent"],
    ["a name that is not found, always", Array(3).fill(networkError("ENOTFOUND")), "network", "not-sent"],
    [
      "TLS that breaks, perhaps after the request",
      Array(3).fill(networkError("ERR_SSL_BAD_RECORD_MAC")),
      "network",
      "unknown",
    ],
    [
      "a host that is gone while reading",
      Array(3).fill(
        Object.assign(networkError("EHOSTUNREACH"), { cause: { code: "EHOSTUNREACH", syscall: "read" } }),
      ),
      "network",
      "unknown",
    ],
    ["a reset, then a proxy's 400", [networkError("ECONNRESET"), html(400)], "rejected", "unknown"],
    [
      "what Deno says when nobody listens",
      Array(3).fill(
        new TypeError("error sending request for url (x): client error (Connect): Connection refused"),
      ),
      "network",
      "not-sent",
    ],
    [
      "a certificate that is not trusted",
      Array(3).fill(networkError("DEPTH_ZERO_SELF_SIGNED_CERT")),
      "network",
      "not-sent",
    ],
    ["a reset connection", Array(3).fill(networkError("ECONNRESET")), "network", "unknown"],
    ["an error without a code", Array(3).fill(new TypeError("fetch failed")), "network", "unknown"],
    [
      "a reset, then refused connections",
      [networkError("ECONNRESET"), networkError("ECONNREFUSED"), networkError("ECONNREFUSED")],
      "network",
      "unknown",
    ],
    ["refused connections, then 404", [networkError("ECONNREFUSED"), json({}, 404)], "not-found", "rejected"],
    ["a reset, then 422", [networkError("ECONNRESET"), json({}, 422)], "validation", "rejected"],
    ["a reset, then 401", [networkError("ECONNRESET"), json({}, 401)], "unauthorized", "unknown"],
    ["401", [json({}, 401)], "unauthorized", "rejected"],
    ["408, then a proxy's 400", [json({}, 408), html(400)], "rejected", "unknown"],
    ["500, always", [json({}, 500), json({}, 500), json({}, 500)], "server", "unknown"],
    ["429, always", [json({}, 429), json({}, 429), json({}, 429)], "rate-limited", "rejected"],
    ["201 with HTML, always", [html(201), html(201), html(201)], "invalid-response", "unknown"],
    ["201 with no card", [json({ ok: true }, 201)], "invalid-response", "unknown"],
    ["201 with null", [json(null, 201)], "invalid-response", "unknown"],
    ["201 with an id that is a number", [json({ id: 7 }, 201)], "invalid-response", "unknown"],
  ];

  it.each(cases)("after %s", async (_name, script, code, outcome) => {
    const error = await failureOf(issue(script).result);
    expect(error).toMatchObject({ code, outcome, attempts: script.length, idempotencyKey: "order-1" });
  });

  it('is not "not-sent" after 429, then refused connections', async () => {
    const { result } = issue([json({}, 429), networkError("ECONNREFUSED"), networkError("ECONNREFUSED")]);
    expect((await failureOf(result)).outcome).toBe("rejected");
  });
});

describe("the size of an answer", () => {
  it.each([
    [200, "invalid-response", false, 1],
    [404, "not-found", false, 1],
    [429, "rate-limited", true, 3],
    [500, "server", true, 3],
    [501, "server", false, 1],
  ])("with status %i is bounded, however long it goes on", async (status, code, retryable, attempts) => {
    let [sent, cancelled] = [0, 0];
    const endless = () =>
      new Response(
        new ReadableStream({
          pull(stream) {
            sent += 65_536;
            stream.enqueue(new Uint8Array(65_536));
          },
          cancel() {
            cancelled += 1;
          },
        }),
        { status },
      );
    const { client } = scripted(Array(3).fill(endless));
    expect(await failureOf(client.getCard("card_1"))).toMatchObject({ code, retryable, attempts });
    expect(cancelled).toBe(attempts);
    expect(sent).toBeLessThan(attempts * 5 * 1024 * 1024);
  });
});

it.each([null, 0, "", false])("an abort with the reason %j rejects with just that", async (reason) => {
  const controller = new AbortController();
  const { client } = scripted([() => new Promise<Response>(() => controller.abort(reason))]);
  const thrown = await client.getCard("card_1", { signal: controller.signal }).then(
    () => "nothing",
    (error) => ({ error }),
  );
  expect(thrown).toEqual({ error: reason });
});

it("a wave of calls on one signal adds one listener, and takes it away", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  let most = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = function (...args: Parameters<typeof addEventListener>) {
    most = Math.max(most, ++listeners);
    return addEventListener.apply(this, args);
  };
  signal.removeEventListener = function (...args: Parameters<typeof removeEventListener>) {
    listeners -= 1;
    return removeEventListener.apply(this, args);
  };
  const { client } = scripted(Array.from({ length: 100 }, () => () => json(card)));
  const calls = Array.from({ length: 100 }, () => client.getCard("card_1", { signal }));
  await Promise.all(calls);
  expect([most, listeners]).toEqual([1, 0]);
});

describe("onEvent", () => {
  it("hears of attempts, retries with their reason, and the answer", async () => {
    const { result, events } = issue([json({}, 503), networkError("ECONNRESET"), issued()]);
    await result;
    const ofThisCall = { call: events[0]?.call, operation: "issueCard" };
    expect(events).toEqual([
      { ...ofThisCall, type: "attempt", attempt: 1, method: "POST" },
      { ...ofThisCall, type: "retry", attempt: 1, reason: 503, pauseMs: 0 },
      { ...ofThisCall, type: "attempt", attempt: 2, method: "POST" },
      { ...ofThisCall, type: "retry", attempt: 2, reason: "network", pauseMs: 0 },
      { ...ofThisCall, type: "attempt", attempt: 3, method: "POST" },
      { ...ofThisCall, type: "response", attempts: 3, status: 201, durationMs: 0 },
    ]);
  });

  it("hears of a call that ends without an answer", async () => {
    const { result, events } = issue([networkError("ECONNRESET")], { maxRetries: 0 });
    await result.catch(() => {});
    expect(events.at(-1)).toEqual({
      type: "failure",
      call: expect.any(Number),
      operation: "issueCard",
      attempts: 1,
      code: "network",
      durationMs: 0,
    });
  });

  it("numbers the calls, so that those under way at the same time can be told apart", async () => {
    const { client, events } = scripted([json(card), json({}, 404)]);
    await Promise.allSettled([client.getCard("card_1"), client.getCard("card_2")]);
    const [first = 0, second = 0, ...more] = new Set(events.map(({ call }) => call));
    const ofCall = (call: number) => events.filter((event) => event.call === call);
    expect(more).toEqual([]);
    expect(ofCall(first)).toMatchObject([{ type: "attempt" }, { type: "response", status: 200 }]);
    expect(ofCall(second)).toMatchObject([{ type: "attempt" }, { type: "response", status: 404 }]);
  });

  it("hears that the caller aborted", async () => {
    const controller = new AbortController();
    const { client, events } = scripted([() => new Promise<Response>(() => controller.abort())]);
    await client.getCard("card_1", { signal: controller.signal }).catch(() => {});
    expect(events).toMatchObject([{ type: "attempt" }, { type: "abort", attempts: 1 }]);
  });

  it("may throw without costing a call", async () => {
    const { result } = issue([issued()], {
      onEvent: () => {
        throw new Error("metrics down");
      },
    });
    expect((await result).id).toBe("card_1");
  });
});
