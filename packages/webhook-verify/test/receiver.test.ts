/** The receiver without any framework: every case of the answer table, and what it tells about each. */
import { describe, expect, it } from "vitest";
import {
  createReceiver,
  type DedupeStore,
  isKnownEvent,
  memoryDedupe,
  onEvents,
  type ReceivedRequest,
  type ReceiverOptions,
  type ReceiverOutcome,
  type Secret,
  signWebhookSync,
} from "../src/index.ts";
import { RawBodyError } from "../src/raw-body.ts";
import { balanceChanged, secret, signedDelivery } from "./signed-delivery.ts";

function posted({ body, headers }: ReturnType<typeof signedDelivery>, more: Partial<ReceivedRequest> = {}) {
  return { method: "POST", headers, rawBody: body, ...more };
}

function receiverWith(options: Partial<ReceiverOptions> = {}) {
  const outcomes: ReceiverOutcome[] = [];
  const log: string[] = [];
  const receive = createReceiver({
    secret,
    onOutcome: (outcome) => outcomes.push(outcome),
    log: (line) => log.push(line),
    ...options,
  });
  return { receive, outcomes, log };
}

function gate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("a genuine delivery", () => {
  it("is accepted before it is answered 204", async () => {
    const seen: string[] = [];
    const { receive, outcomes } = receiverWith({ accept: (event) => void seen.push(event.id) });
    const answer = await receive(posted(signedDelivery(balanceChanged())));
    expect(answer.status).toBe(204);
    expect(seen).toEqual(["evt_1"]);
    expect(answer.afterAnswer).toBeUndefined();
    expect(outcomes).toMatchObject([
      { outcome: "verified", status: 204, event: { id: "evt_1", type: "balance.changed" }, skewSeconds: 0 },
    ]);
    expect(outcomes).toMatchObject([{ contradictsHeader: false }]);
  });

  it("is processed after the answer", async () => {
    const seen: string[] = [];
    const { receive } = receiverWith({ process: (event) => void seen.push(event.id) });
    const answer = await receive(posted(signedDelivery(balanceChanged())));
    expect([answer.status, seen]).toEqual([204, []]);
    await answer.afterAnswer?.();
    expect(seen).toEqual(["evt_1"]);
  });

  it("is handed over with its name, its bytes and the moment it came", async () => {
    const seen: unknown[] = [];
    const nowMs = Date.now();
    const { receive } = receiverWith({
      now: () => nowMs,
      accept: (_event, { id, rawBody, receivedAt, signal }) =>
        void seen.push([id, new TextDecoder().decode(rawBody), receivedAt.getTime(), signal.aborted]),
    });
    const delivery = signedDelivery(balanceChanged());
    const { "service-delivery": _, ...headers } = delivery.headers;
    await receive(posted(delivery));
    await receive(posted({ ...delivery, headers }));
    expect(seen).toEqual([
      ["dlv_1", delivery.body, nowMs, false],
      [undefined, delivery.body, nowMs, false],
    ]);
  });

  it("of an unknown type is treated as any other", async () => {
    const seen: string[] = [];
    const { receive } = receiverWith({ accept: (event) => void seen.push(event.type) });
    const event = { id: "evt_1", type: "card.renamed", createdAt: "2026-01-01T00:00:00.000Z" };
    expect((await receive(posted(signedDelivery(event)))).status).toBe(204);
    expect(seen).toEqual(["card.renamed"]);
  });

  it("is dispatched by the signed body; a contradicting header is reported", async () => {
    const seen: string[] = [];
    const { receive, outcomes } = receiverWith({ accept: (event) => void seen.push(event.type) });
    const delivery = signedDelivery(balanceChanged());
    delivery.headers["service-event"] = "card.added";
    expect((await receive(posted(delivery))).status).toBe(204);
    expect(seen).toEqual(["balance.changed"]);
    expect(outcomes).toMatchObject([{ contradictsHeader: true }]);
  });

  it("without the header that announces its type contradicts nothing", async () => {
    const { receive, outcomes } = receiverWith();
    const delivery = signedDelivery(balanceChanged());
    delete delivery.headers["service-event"];
    await receive(posted(delivery));
    expect(outcomes).toMatchObject([{ contradictsHeader: false }]);
  });

  it("may have exactly as many bytes as are allowed, announced or not", async () => {
    const { body, headers } = signedDelivery(balanceChanged());
    const { receive } = receiverWith({ maxBodyBytes: body.length });
    const announced = { ...headers, "content-length": String(body.length) };
    expect((await receive({ method: "POST", headers, rawBody: body })).status).toBe(204);
    expect((await receive({ method: "POST", headers: announced, rawBody: body })).status).toBe(204);
  });

  it.each([
    ["12", { maxBodyBytes: 100, expectedBytes: 12 }],
    [undefined, { maxBodyBytes: 100 }],
    ["12 bytes", { maxBodyBytes: 100 }],
    ["-12", { maxBodyBytes: 100 }],
    ["1e1", { maxBodyBytes: 100 }],
  ])("with content-length %s is read within %j", async (announced, limits) => {
    const { receive } = receiverWith({ maxBodyBytes: 100 });
    const { headers } = signedDelivery(balanceChanged());
    const seen: unknown[] = [];
    const rawBody = async (given: unknown) => {
      seen.push(given);
      return "";
    };
    await receive({ method: "POST", headers: { ...headers, "content-length": announced }, rawBody });
    expect(seen).toEqual([limits]);
  });

  it("tells which secret matched, and how far the clocks are apart", async () => {
    const { receive, outcomes } = receiverWith({
      secret: [
        { key: "whsec_new", id: "new" },
        { key: secret, id: "old" },
      ],
      now: () => 1_767_225_642_000,
    });
    await receive(posted(signedDelivery(balanceChanged(), { timestamp: 1_767_225_600 })));
    expect(outcomes).toMatchObject([{ secretId: "old", skewSeconds: 42 }]);
  });

  it("finds its headers whatever their case, in a record or in Headers", async () => {
    const { receive } = receiverWith({ accept: () => {} });
    const delivery = signedDelivery(balanceChanged());
    const upper = Object.fromEntries(
      Object.entries(delivery.headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const headers of [upper, new Headers(delivery.headers)]) {
      expect((await receive({ method: "POST", headers, rawBody: delivery.body })).status).toBe(204);
    }
  });
});

describe("a genuine delivery whose data differs from the contract", () => {
  const other = (type: string, data: unknown) => ({ ...balanceChanged(), type, data });
  const { data: whole } = balanceChanged();

  it.each<[string, unknown, string[]]>([
    ["balance.changed", undefined, ["/data"]],
    ["balance.changed", null, ["/data"]],
    ["balance.changed", [], ["/data"]],
    ["balance.changed", "text", ["/data"]],
    ["balance.changed", { ...whole, balance: "120" }, ["/data/balance"]],
    ["balance.changed", { ...whole, operation: { id: 7 } }, ["/data/operation/id", "/data/operation/type"]],
    ["balance.changed", { ...whole, operation: null }, ["/data/operation"]],
    ["balance.changed", { ...whole, change: null, passId: 1 }, ["/data/passId", "/data/change"]],
    ["card.added", { customerId: "cus_1" }, ["/data/passId"]],
    ["card.removed", { passId: "card_1" }, ["/data/customerId"]],
    ["tier.changed", {}, ["/data/passId", "/data/customerId"]],
    ["consent.changed", { customerId: "cus_1" }, ["/data/passIds"]],
    ["consent.changed", { customerId: "cus_1", passIds: ["a", 7, 8] }, ["/data/passIds/1"]],
  ])("%s with %j is accepted, and the outcome names the paths", async (type, data, paths) => {
    const seen: unknown[] = [];
    const { receive, outcomes } = receiverWith({
      accept: (event) => void seen.push(event, isKnownEvent(event)),
    });
    const event = other(type, data);
    expect((await receive(posted(signedDelivery(event)))).status).toBe(204);
    expect(seen).toEqual([JSON.parse(JSON.stringify(event)), false]);
    expect(outcomes).toMatchObject([
      { outcome: "verified", status: 204, event: { id: "evt_1", type }, unexpectedData: paths },
    ]);
  });

  it("is accepted with a number that JSON can write and nobody can store", async () => {
    const { receive, outcomes } = receiverWith();
    const body = JSON.stringify(balanceChanged()).replace(`"balance":120`, `"balance":1e999`);
    expect((await receive(posted(signedDelivery(body)))).status).toBe(204);
    expect(outcomes).toMatchObject([{ unexpectedData: ["/data/balance"] }]);
  });

  it.each<[string, unknown]>([
    ["balance.changed", whole],
    ["balance.changed", { ...whole, bonus: [1], operation: { ...whole.operation, by: null } }],
    ["tier.changed", { passId: "card_1", customerId: "cus_1", tier: { name: "Gold" }, previous: 1 }],
    ["tier.changed", { passId: "card_1", customerId: "cus_1" }],
    ["card.added", { passId: "card_1", customerId: "cus_1", wallet: null }],
    ["card.removed", { passId: "card_1", customerId: "cus_1", wallet: ["apple"] }],
    ["consent.changed", { customerId: "cus_1", passIds: [], marketingConsent: "given" }],
    ["ping", undefined],
    ["ping", null],
    ["ping", [7]],
    ["card.renamed", "text"],
  ])("%s with %j does not, where the specification leaves the form open", async (type, data) => {
    const { receive, outcomes, log } = receiverWith();
    expect((await receive(posted(signedDelivery(other(type, data))))).status).toBe(204);
    expect(outcomes[0]).not.toHaveProperty("unexpectedData");
    expect(log).toEqual([]);
  });

  it("is logged once for each type, by paths and never by values", async () => {
    const { receive, log, outcomes } = receiverWith();
    const personal = { ...whole, passId: 600100200, balance: "anna@example.com" };
    for (let count = 0; count < 3; count++) {
      await receive(
        posted(signedDelivery({ ...other("balance.changed", personal), ...{ id: `evt_${count}` } })),
      );
      await receive(posted(signedDelivery(other("card.added", null))));
    }
    expect(log).toEqual([
      expect.stringMatching(/data of balance\.changed evt_0 .* at \/data\/passId, \/data\/balance\. /),
      expect.stringMatching(/data of card\.added evt_1 .* at \/data\. /),
    ]);
    expect(log.join()).not.toMatch(/anna|600100200/);
    expect(outcomes.filter((outcome) => "unexpectedData" in outcome)).toHaveLength(6);
  });

  it("is a 503 when onEvents has neither `unknown` nor `other`, so that it is delivered again", async () => {
    const called: string[] = [];
    const handler = (event: { type: string }) => void called.push(event.type);
    const { receive, outcomes, log } = receiverWith({
      accept: onEvents({
        "card.added": handler,
        "card.removed": handler,
        "balance.changed": handler,
        "tier.changed": handler,
        "consent.changed": handler,
        ping: handler,
      }),
    });
    const answer = await receive(posted(signedDelivery(other("balance.changed", null))));
    expect([answer.status, answer.headers, called]).toEqual([503, { "retry-after": "60" }, []]);
    expect(outcomes).toMatchObject([
      { outcome: "failed", reason: "not-taken-over", unexpectedData: ["/data"] },
    ]);
    expect(log).toHaveLength(2);
    expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(204);
    expect(called).toEqual(["balance.changed"]);
  });
});

describe("what is signed and no event", () => {
  const genuine = JSON.stringify(balanceChanged());
  it.each<[string, string | Uint8Array, RegExp]>([
    ["an empty body", "", /the body is not JSON/],
    ["a list", "[]", /the body is not a JSON object/],
    ["text that is not UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), /the body is not UTF-8/],
    ["an id that is a number", genuine.replace('"evt_1"', "1"), /id is not a string/],
    ["an empty id", genuine.replace("evt_1", ""), /id is empty/],
    ["an id with a NUL", genuine.replace("evt_1", "evt\\u0000"), /id has a NUL character/],
    [
      "an id with half a pair",
      genuine.replace("evt_1", "evt\\ud83c"),
      /id has a NUL .* or half of a surrogate/,
    ],
    ["an id of 513 characters", genuine.replace("evt_1", "e".repeat(513)), /id has more than 512 characters/],
    ["a type with a NUL", genuine.replace("balance.changed", "\\u0000"), /type has a NUL character/],
    ["no createdAt", genuine.replace("createdAt", "created"), /createdAt is not a string/],
    ["a createdAt with half a pair", genuine.replace("2026", "\\udfff"), /createdAt has a NUL .* or half/],
  ])("%s is 400, and a line in the log that says why", async (_name, body, why) => {
    const accepted: unknown[] = [];
    const { receive, log, outcomes } = receiverWith({ accept: (event) => void accepted.push(event) });
    const signature = signWebhookSync({ rawBody: body, secret });
    const headers = { "service-signature": signature };
    expect((await receive({ method: "POST", headers, rawBody: body })).status).toBe(400);
    expect(log).toEqual([expect.stringMatching(why)]);
    expect(log.join()).not.toContain("evt");
    expect([accepted, outcomes]).toMatchObject([[], [{ outcome: "rejected", reason: "invalid-payload" }]]);
  });

  it("is not logged when it is not signed: anybody could fill the log", async () => {
    const { receive, log } = receiverWith();
    const headers = { "service-signature": signWebhookSync({ rawBody: "[]", secret: "whsec_other" }) };
    expect((await receive({ method: "POST", headers, rawBody: "[]" })).status).toBe(401);
    expect(log).toEqual([]);
  });
});

it("a log line shows the type and the id of an event on one line, and not more than their beginning", async () => {
  const { receive, log } = receiverWith({ accept: () => Promise.reject(new Error("down")) });
  const event = { id: "evt\n1 is fine\u2028\u202e", type: "x\r\n".repeat(5_000), createdAt: "x" };
  expect((await receive(posted(signedDelivery(JSON.stringify(event))))).status).toBe(503);
  expect(log).toHaveLength(1);
  expect(log[0]).not.toMatch(/[\r\n\u2028\u202e]/);
  expect(log[0]?.length).toBeLessThan(600);
});

describe("a clock that fails while the receiver runs", () => {
  it.each<[string, () => unknown]>([
    ["an ISO string", () => "2026-01-01T00:00:00.000Z"],
    ["NaN", () => Number.NaN],
    ["nothing", () => undefined],
  ])(
    "that returns %s accepts nothing: 500, and a line in the log that names the fix",
    async (_name, fail) => {
      let clock: () => unknown = Date.now;
      const accepted: unknown[] = [];
      const { receive, log, outcomes } = receiverWith({
        now: () => clock() as number,
        accept: (event) => void accepted.push(event),
      });
      // Years old: to a comparison with NaN it is fresh.
      const stale = signedDelivery(balanceChanged(), { timestamp: 1 });
      expect((await receive(posted(stale))).status).toBe(401);
      clock = fail;
      for (const delivery of [stale, signedDelivery(balanceChanged())]) {
        expect((await receive(posted(delivery))).status).toBe(500);
      }
      expect(log).toEqual([expect.stringMatching(/`now` function .* Let it return a number/)]); // one line for both
      expect(outcomes.slice(1)).toMatchObject(
        Array(2).fill({ outcome: "misconfigured", reason: "invalid-clock", status: 500 }),
      );
      clock = Date.now;
      expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(204);
      expect(accepted).toHaveLength(1);
    },
  );
});

describe("a refusal", () => {
  const refusals: [string, number, string, () => ReceivedRequest][] = [
    [
      "no signature",
      401,
      "missing-signature",
      () => posted(signedDelivery(balanceChanged()), { headers: {} }),
    ],
    [
      "another secret",
      401,
      "mismatch",
      () => posted(signedDelivery(balanceChanged(), { key: "whsec_other" })),
    ],
    ["a stale signature", 401, "stale", () => posted(signedDelivery(balanceChanged(), { timestamp: 1 }))],
    ["a signed body that is no event", 400, "invalid-payload", () => posted(signedDelivery("[]"))],
    ["GET", 405, "not-post", () => posted(signedDelivery(balanceChanged()), { method: "GET" })],
    [
      "a compressed body",
      415,
      "encoded",
      () => {
        const { body, headers } = signedDelivery(balanceChanged());
        return { method: "POST", headers: { ...headers, "content-encoding": "gzip" }, rawBody: body };
      },
    ],
    ["a body over the limit", 413, "too-large", () => posted(signedDelivery(`"${"x".repeat(2000)}"`))],
  ];

  it.each(refusals)("of %s is %i, and only onOutcome hears %s", async (_name, status, reason, request) => {
    const { receive, outcomes } = receiverWith({ maxBodyBytes: 1000, accept: () => {} });
    const answer = await receive(request());
    expect(answer.status).toBe(status);
    expect(Object.keys(answer)).toEqual(["status", "headers"]);
    expect(outcomes).toMatchObject([{ outcome: "rejected", status, reason }]);
  });

  it("of another method names the right one", async () => {
    const { receive } = receiverWith();
    expect((await receive(posted(signedDelivery(balanceChanged()), { method: "PUT" }))).headers).toEqual({
      allow: "POST",
    });
  });

  it("of a body that does not come in time is 408", async () => {
    const { receive, outcomes } = receiverWith({ answerWithinMs: 50 });
    const { headers } = signedDelivery(balanceChanged());
    const answer = await receive({ method: "POST", headers, rawBody: () => new Promise(() => {}) });
    expect([answer.status, answer.headers]).toEqual([408, { connection: "close" }]);
    expect(outcomes).toMatchObject([{ outcome: "rejected", reason: "too-slow" }]);
  });

  it("of a body that breaks off is 400, and nothing to log", async () => {
    const { receive, outcomes, log } = receiverWith();
    const rawBody = () => Promise.reject(new RawBodyError("unreadable"));
    const answer = await receive(posted(signedDelivery(balanceChanged()), { rawBody }));
    expect([answer.status, answer.headers, log]).toEqual([400, { connection: "close" }, []]);
    expect(outcomes).toMatchObject([{ outcome: "rejected", reason: "unreadable" }]);
  });

  it("of a body that comes only after the answer begins nothing and is told once", async () => {
    const { opened, open } = gate();
    const looked = gate();
    const accepted: string[] = [];
    const { receive, outcomes } = receiverWith({
      answerWithinMs: 10,
      secret: () => {
        looked.open();
        return secret;
      },
      accept: ({ id }) => void accepted.push(id),
    });
    const { body, headers } = signedDelivery(balanceChanged());
    const rawBody = async () => {
      await opened;
      return body;
    };
    expect((await receive({ method: "POST", headers, rawBody })).status).toBe(408);
    open();
    await looked.opened;
    await new Promise(setImmediate); // what follows are promises that are settled already
    expect([accepted, outcomes.map(({ outcome }) => outcome)]).toEqual([[], ["rejected"]]);
  });

  it("by the header alone leaves the body unread", async () => {
    const { receive, outcomes } = receiverWith();
    let reads = 0;
    const rawBody = async () => {
      reads++;
      return "";
    };
    await receive({ method: "POST", headers: { "service-signature": "t=1,v1=00" }, rawBody });
    const { headers } = signedDelivery(balanceChanged());
    await receive({ method: "POST", headers: { ...headers, "content-length": "2000000" }, rawBody });
    expect(reads).toBe(0);
    expect(outcomes).toMatchObject([{ reason: "malformed-signature" }, { status: 413, reason: "too-large" }]);
  });
});

describe("taking over", () => {
  it("that fails is answered 503, so that the service delivers again", async () => {
    const { receive, outcomes } = receiverWith({ accept: () => Promise.reject(new Error("database down")) });
    const answer = await receive(posted(signedDelivery(balanceChanged())));
    expect([answer.status, answer.headers]).toEqual([503, { "retry-after": "60" }]);
    expect(outcomes).toMatchObject([{ outcome: "failed", reason: "not-taken-over" }]);
  });

  it("that takes too long is answered 503, and told to stop", async () => {
    let signal: AbortSignal | undefined;
    const { opened, open } = gate();
    const { receive, outcomes } = receiverWith({
      answerWithinMs: 100,
      accept: (_event, delivery) => {
        signal = delivery.signal;
        return opened;
      },
    });
    const answer = await receive(posted(signedDelivery(balanceChanged())));
    open();
    expect(answer.status).toBe(503);
    expect(signal?.reason).toEqual(new Error("The answer was due."));
    expect(outcomes).toMatchObject([{ outcome: "failed", reason: "too-slow" }]);
  });

  it("is the inbox's when there is one: stored and duplicate are both 204", async () => {
    const results: ("stored" | "duplicate")[] = ["stored", "duplicate"];
    const bodies: string[] = [];
    const processed: string[] = [];
    const { receive, outcomes } = receiverWith({
      process: ({ id }) => void processed.push(id),
      inbox: {
        put: async (_event, { body }, { signal }) => {
          bodies.push(signal.aborted ? "too late" : Buffer.from(body).toString());
          return results.shift() ?? "duplicate";
        },
      },
    });
    const delivery = signedDelivery(balanceChanged());
    const answers = [await receive(posted(delivery)), await receive(posted(delivery))];
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    for (const { afterAnswer } of answers) await afterAnswer?.();
    expect(processed).toEqual(["evt_1"]);
    expect(bodies).toEqual([delivery.body, delivery.body]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["stored", "duplicate"]);
  });

  it.each(["accept", "process"] as const)(
    "that fails in %s is logged with its place and what follows, and told with its error",
    async (name) => {
      const follows = { accept: "so the service delivers it again", process: "so nobody delivers it again" };
      const error = new RangeError("+48600100200");
      const { receive, log, outcomes } = receiverWith({ [name]: () => Promise.reject(error) });
      const answer = await receive(posted(signedDelivery(balanceChanged())));
      await answer.afterAnswer?.();
      expect(log).toEqual([
        expect.stringMatching(/balance\.changed evt_1 failed in .*receiver\.test\.ts:\d+.* \(RangeError\)/),
      ]);
      expect(log.join()).toContain(follows[name]);
      expect(log.join()).not.toContain("600100200");
      expect(outcomes.at(-1)).toMatchObject({ error });
    },
  );

  it("that fails with a text like a stack is logged without any of it", async () => {
    const error = new Error("duplicate key\n    at +48600100200 (customers:1:1)\n    at more");
    const { receive, log } = receiverWith({ accept: () => Promise.reject(error) });
    await receive(posted(signedDelivery(balanceChanged())));
    expect(log).toEqual([expect.stringMatching(/receiver\.test\.ts:\d+/)]);
    expect(log.join()).not.toContain("600100200");
  });

  it("that fails only after the answer is logged all the same", async () => {
    let fail: (error: Error) => void = () => {};
    const failing = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    const written = gate();
    const log: string[] = [];
    const { receive } = receiverWith({
      answerWithinMs: 10,
      accept: () => failing,
      log: (line) => {
        log.push(line);
        written.open();
      },
    });
    expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(503);
    fail(new Error("database down"));
    await written.opened;
    expect(log).toEqual([expect.stringMatching(/evt_1 failed in /)]);
  });

  it.each([null, "text", undefined])("that throws %s, which is no error, is logged too", async (thrown) => {
    const { receive, log } = receiverWith({ accept: () => Promise.reject(thrown) });
    expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(503);
    expect(log).toEqual([expect.stringContaining("a handler that threw")]);
  });
});

describe("an inbox and accept together", () => {
  it("never acknowledge what accept has not taken, also when the inbox knows the event", async () => {
    const known = new Set<string>();
    const results = [() => Promise.reject(new Error("down")), () => Promise.resolve()];
    const { receive } = receiverWith({
      inbox: {
        put: async ({ id }) => {
          if (known.has(id)) return "duplicate";
          known.add(id);
          return "stored";
        },
      },
      accept: () => results.shift()?.(),
    });
    const delivery = signedDelivery(balanceChanged());
    expect([(await receive(posted(delivery))).status, (await receive(posted(delivery))).status]).toEqual([
      503, 204,
    ]);
    expect(results).toEqual([]);
  });
});

describe("a take-over that ends after the answer", () => {
  it("is processed then, because the next copy is a duplicate", async () => {
    const { opened, open } = gate();
    const done = gate();
    const processed: string[] = [];
    const { receive, outcomes } = receiverWith({
      answerWithinMs: 100,
      dedupe: memoryDedupe(),
      accept: () => opened,
      process: (event) => {
        processed.push(event.id);
        done.open();
      },
    });
    const delivery = signedDelivery(balanceChanged());
    expect((await receive(posted(delivery))).status).toBe(503);
    open();
    await done.opened;
    const answer = await receive(posted(delivery));
    await answer.afterAnswer?.();
    expect([answer.status, processed]).toEqual([204, ["evt_1"]]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["failed", "duplicate"]); // one for each answer
  });
});

describe("a duplicate", () => {
  it("of an event that was taken over is 204, and nobody is called again", async () => {
    let calls = 0;
    const { receive, outcomes } = receiverWith({ dedupe: memoryDedupe(), accept: () => void calls++ });
    const delivery = signedDelivery(balanceChanged());
    const statuses = [(await receive(posted(delivery))).status, (await receive(posted(delivery))).status];
    expect([statuses, calls]).toEqual([[204, 204], 1]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["verified", "duplicate"]);
  });

  it("of a copy that can still fail is 503, never 2xx", async () => {
    const { opened, open } = gate();
    const { receive } = receiverWith({ dedupe: memoryDedupe(), accept: () => opened });
    const delivery = signedDelivery(balanceChanged());
    const first = receive(posted(delivery));
    expect((await receive(posted(delivery))).status).toBe(503);
    open();
    expect((await first).status).toBe(204);
  });

  it("of a copy that failed is new", async () => {
    const results = [() => Promise.reject(new Error("down")), () => Promise.resolve()];
    const { receive } = receiverWith({ dedupe: memoryDedupe(), accept: () => results.shift()?.() });
    const delivery = signedDelivery(balanceChanged());
    expect((await receive(posted(delivery))).status).toBe(503);
    expect((await receive(posted(delivery))).status).toBe(204);
  });

  it("of a copy that came too late but succeeded in the end is 204 without another call", async () => {
    let calls = 0;
    const { opened, open } = gate();
    const dedupe = memoryDedupe();
    const finished = gate();
    const { receive } = receiverWith({
      answerWithinMs: 100,
      accept: () => {
        calls++;
        return opened;
      },
      dedupe: {
        ...dedupe,
        complete: (id) => {
          dedupe.complete(id);
          finished.open();
        },
      },
    });
    const delivery = signedDelivery(balanceChanged());
    expect((await receive(posted(delivery))).status).toBe(503);
    open();
    await finished.opened;
    expect([(await receive(posted(delivery))).status, calls]).toEqual([204, 1]);
  });

  it("is 503 when the store is down", async () => {
    const down = () => Promise.reject(new Error("redis down"));
    const abandoned: string[] = [];
    const abandon = (id: string) => {
      abandoned.push(id);
      return down();
    };
    const statusWith = async (begin: DedupeStore["begin"]) => {
      const { receive } = receiverWith({ dedupe: { begin, complete: down, abandon }, accept: () => {} });
      return (await receive(posted(signedDelivery(balanceChanged())))).status;
    };
    expect([await statusWith(down), abandoned]).toEqual([503, []]); // another's claim may be there
    expect([await statusWith(() => "new"), abandoned]).toEqual([503, ["evt_1"]]);
  });
});

describe("a secret that is looked up", () => {
  it("is asked for once, and again after a mismatch, but not more often than every 30 s", async () => {
    let nowMs = 0;
    let current: Secret = "whsec_old";
    let asked = 0;
    const { receive } = receiverWith({
      monotonicNow: () => nowMs,
      secret: () => {
        asked++;
        return current;
      },
    });
    const deliver = async () => (await receive(posted(signedDelivery(balanceChanged())))).status;

    expect([await deliver(), asked]).toEqual([401, 2]);
    current = secret; // "New secret" was clicked
    nowMs += 29_999;
    expect([await deliver(), asked]).toEqual([401, 2]);
    nowMs += 1;
    expect([await deliver(), asked]).toEqual([204, 3]);
    expect([await deliver(), asked]).toEqual([204, 3]);
  });

  it("serves everybody who waits for the new one, not only the first", async () => {
    let current: Secret = "whsec_old";
    const { receive } = receiverWith({ secret: async () => current });
    await receive({ method: "POST", headers: { "service-signature": "t=1,v1=00" }, rawBody: "" });
    expect((await receive(posted(signedDelivery(balanceChanged(), { key: "whsec_old" })))).status).toBe(204);
    current = secret;
    const delivery = signedDelivery(balanceChanged());
    const answers = await Promise.all([1, 2, 3].map(() => receive(posted(delivery))));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
  });

  it("keeps the old one while the look-up hangs or fails: a forgery cannot lock genuine deliveries out", async () => {
    for (const fault of [
      () => new Promise<string>(() => {}),
      () => Promise.reject(new Error("vault sealed")),
    ]) {
      let asked = 0;
      const { receive } = receiverWith({
        answerWithinMs: 300,
        secret: () => (asked++ === 0 ? secret : fault()),
      });
      const genuine = () => receive(posted(signedDelivery(balanceChanged())));
      expect((await genuine()).status).toBe(204);
      const forged = receive(posted(signedDelivery(balanceChanged(), { key: "whsec_other" })));
      expect((await genuine()).status).toBe(204);
      expect([401, 503]).toContain((await forged).status);
      expect((await genuine()).status).toBe(204);
    }
  });

  it("answers 503 in time when the first look-up hangs", async () => {
    const { receive, outcomes } = receiverWith({
      answerWithinMs: 100,
      secret: () => new Promise<string>(() => {}),
    });
    expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(503);
    expect(outcomes).toMatchObject([{ outcome: "misconfigured", reason: "secret-too-slow" }]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("vault sealed");
      },
    ],
    ["rejects", () => Promise.reject(new Error("vault sealed"))],
  ])("is asked for again a second after the function %s, not before", async (_name, fail) => {
    let nowMs = 0;
    let asked = 0;
    const { receive } = receiverWith({
      monotonicNow: () => nowMs,
      secret: () => (++asked < 3 ? fail() : secret),
    });
    const delivery = signedDelivery(balanceChanged());
    const deliver = async () => [(await receive(posted(delivery))).status, asked];

    expect(await deliver()).toEqual([500, 1]);
    expect(await deliver()).toEqual([500, 1]);
    nowMs += 999;
    expect(await deliver()).toEqual([500, 1]);
    nowMs += 1;
    expect(await deliver()).toEqual([500, 2]);
    nowMs += 1000;
    expect(await deliver()).toEqual([204, 3]);
  });

  it("is looked up once for everybody who comes meanwhile", async () => {
    const vault = gate();
    let asked = 0;
    const { receive } = receiverWith({
      secret: async () => {
        asked++;
        await vault.opened;
        return secret;
      },
    });
    const waiting = [1, 2, 3].map(() => receive(posted(signedDelivery(balanceChanged()))));
    vault.open();
    const answers = await Promise.all(waiting);
    expect([answers.map(({ status }) => status), asked]).toEqual([[204, 204, 204], 1]);
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("vault sealed"))],
    ["gives nothing", () => undefined as unknown as Secret],
    ["gives an empty one", () => ""],
  ])("is 500 and a line in the log when the function %s", async (_name, lookUp) => {
    const { receive, log, outcomes } = receiverWith({ secret: lookUp });
    expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(500);
    expect(log).toEqual([
      expect.stringMatching(/the `secret` function gave no usable secret\. Let it return/),
    ]);
    expect(outcomes).toMatchObject([{ outcome: "misconfigured", reason: "no-secret" }]);
  });
});

describe("the age of a secret that was looked up", () => {
  /** A receiver that gets no delivery unless a test sends one, its clock, and what its function gives. */
  function aging(options: Partial<ReceiverOptions> = {}) {
    const clock = { nowMs: 0 };
    const store = { asked: 0, current: (): Secret | Promise<Secret> => "whsec_old" };
    const { receive, log, outcomes } = receiverWith({
      monotonicNow: () => clock.nowMs,
      secret: () => {
        store.asked++;
        return store.current();
      },
      ...options,
    });
    const deliver = async (key: string) =>
      (await receive(posted(signedDelivery(balanceChanged(), { key })))).status;
    return { clock, store, deliver, log, outcomes };
  }

  it("has an end: a secret that leaked is refused after it, with no genuine delivery in between", async () => {
    const { clock, store, deliver } = aging();
    expect(await deliver("whsec_old")).toBe(204);
    store.current = () => secret;
    clock.nowMs = 239_999;
    expect([await deliver("whsec_old"), store.asked]).toEqual([204, 1]);
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(401);
    expect(await deliver(secret)).toBe(204);
  });

  it.each([
    [undefined, 300],
    [60, 60],
    [0.5, 0.5],
  ])(
    "with secretMaxAgeSeconds %s is %d seconds, to the millisecond",
    async (secretMaxAgeSeconds, seconds) => {
      const { clock, store, deliver } = aging(
        secretMaxAgeSeconds === undefined ? {} : { secretMaxAgeSeconds },
      );
      expect(await deliver("whsec_old")).toBe(204);
      store.current = () => new Promise(() => {}); // so that nothing new comes in the background
      clock.nowMs = seconds * 1000 - 1;
      expect(await deliver("whsec_old")).toBe(204);
      store.current = () => secret;
      clock.nowMs += 10_000; // past the limit of the look-up that hangs
      expect(await deliver("whsec_old")).toBe(401);
    },
  );

  it("begins with the question: a slow answer may be about a secret that was replaced meanwhile", async () => {
    const { clock, store, deliver } = aging();
    const [asked, vault] = [gate(), gate()];
    store.current = () => {
      asked.open();
      return vault.opened.then(() => "whsec_old");
    };
    const first = deliver("whsec_old");
    await asked.opened;
    clock.nowMs = 5_000;
    vault.open();
    expect(await first).toBe(204);
    store.current = () => secret;
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(401);
  });

  it("is renewed in the background after four fifths of it, and nobody waits", async () => {
    const { clock, store, deliver } = aging();
    await deliver("whsec_old");
    const vault = gate();
    store.current = () => vault.opened.then(() => secret);
    clock.nowMs = 240_000;
    expect([await deliver("whsec_old"), await deliver("whsec_old"), store.asked]).toEqual([204, 204, 2]);
    vault.open();
    await new Promise(setImmediate); // what follows are promises that are settled already
    expect([await deliver(secret), store.asked]).toEqual([204, 2]);
    clock.nowMs = 240_000 + 239_999;
    expect([await deliver(secret), store.asked]).toEqual([204, 2]);
  });

  it("does not depend on `now`, which may be held or set back", async () => {
    let nowMs = Date.now();
    const { clock, store, deliver } = aging({ now: () => nowMs, toleranceSeconds: 1e6 });
    await deliver("whsec_old");
    store.current = () => secret;
    nowMs -= 500_000;
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(401);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("vault sealed"))],
    ["gives nothing", () => ""],
  ])("ends also when the function %s: 500 until it works, and the old one is over", async (_name, fault) => {
    const { clock, store, deliver, log, outcomes } = aging();
    await deliver("whsec_old");
    store.current = fault;
    clock.nowMs = 299_999;
    expect(await deliver("whsec_old")).toBe(204); // the failure in the background costs nothing yet
    clock.nowMs = 301_000;
    expect([await deliver("whsec_old"), await deliver(secret)]).toEqual([500, 500]);
    expect(log.at(-1)).toContain("the `secret` function gave no usable secret");
    expect(outcomes.at(-1)).toMatchObject({ outcome: "misconfigured", reason: "no-secret" });
    store.current = () => secret;
    clock.nowMs = 302_000;
    expect([await deliver(secret), await deliver("whsec_old")]).toEqual([204, 401]); // delivered again, it is taken
  });

  it("ends also when the function hangs: 503 in time, another look-up after ten seconds, and no late answer counts", async () => {
    const { clock, store, deliver, outcomes } = aging({ answerWithinMs: 100 });
    await deliver("whsec_old");
    const late = gate();
    store.current = () => late.opened.then(() => "whsec_old");
    clock.nowMs = 300_000;
    expect(await deliver("whsec_old")).toBe(503);
    expect(outcomes.at(-1)).toMatchObject({ reason: "secret-too-slow" });
    store.current = () => secret;
    clock.nowMs = 309_999;
    expect([await deliver(secret), store.asked]).toEqual([503, 2]);
    clock.nowMs = 310_000;
    expect([await deliver(secret), store.asked]).toEqual([204, 3]);
    late.open();
    await new Promise(setImmediate); // what follows are promises that are settled already
    expect([await deliver(secret), await deliver("whsec_old")]).toEqual([204, 401]);
  });

  it("is that of each process: three that share a store all refuse the old secret, also the one without deliveries", async () => {
    const store: Secret[] = [{ key: "whsec_old", id: "old" }];
    const startMs = Date.now();
    let passedMs = 0;
    const fleet = Array.from({ length: 3 }, () =>
      receiverWith({
        secret: async () => [...store],
        now: () => startMs + passedMs,
        monotonicNow: () => passedMs,
      }),
    );
    const deliver = (key: string) => {
      const timestamp = Math.floor((startMs + passedMs) / 1000);
      const delivery = signedDelivery(balanceChanged(), { key, timestamp });
      return Promise.all(fleet.map(async ({ receive }) => (await receive(posted(delivery))).status));
    };
    expect(await deliver("whsec_old")).toEqual([204, 204, 204]);

    // "New secret" was clicked: the old one counts for ten more minutes, in every process.
    store.splice(0, 1, { key: secret }, { key: "whsec_old", notAfter: new Date(startMs + 600_000) });
    const [first, second] = fleet;
    for (const receiver of [first, second]) {
      expect((await receiver?.receive(posted(signedDelivery(balanceChanged()))))?.status).toBe(204);
    }
    passedMs = 600_000;
    expect(await deliver("whsec_old")).toEqual([204, 204, 204]);
    passedMs = 600_001;
    expect(await deliver("whsec_old")).toEqual([401, 401, 401]);
    expect(await deliver(secret)).toEqual([204, 204, 204]);
  });
});

describe("construction refuses", () => {
  it.each([
    ["a missing secret", { secret: undefined }, /missing or empty/],
    ["an empty secret", { secret: "" }, /missing or empty/],
    ["a tolerance that is no number", { secret, toleranceSeconds: Number("") / 0 }, /toleranceSeconds must/],
    ["a negative tolerance", { secret, toleranceSeconds: -1 }, /toleranceSeconds must/],
    [
      "a body limit of NaN",
      { secret, maxBodyBytes: Number.NaN },
      /maxBodyBytes must be a positive .* is NaN/,
    ],
    ["an age of 0 for secrets", { secret, secretMaxAgeSeconds: 0 }, /secretMaxAgeSeconds must be a positive/],
    ["an age without end", { secret, secretMaxAgeSeconds: Number.POSITIVE_INFINITY }, /secretMaxAgeSeconds/],
    ["an age of NaN", { secret, secretMaxAgeSeconds: Number.NaN }, /secretMaxAgeSeconds .* is NaN/],
    ["an age that is text", { secret, secretMaxAgeSeconds: "300" }, /secretMaxAgeSeconds/],
    [
      "a monotonic clock without a number",
      { secret, monotonicNow: () => new Date() },
      /monotonicNow must return/,
    ],
    ["an answer time of 0", { secret, answerWithinMs: 0 }, /answerWithinMs must be a positive number/],
    ["an answer time no timer can hold", { secret, answerWithinMs: 2 ** 31 }, /2147483647 at most/],
    ["a secret with a line break behind it", { secret: `${secret}\n` }, /white space/],
    ["no options", undefined, /needs options/],
    ["null", null, /needs options/],
    ["a secret without a name", secret, /needs options/],
  ])("%s", (_name, options, message) => {
    const make = () => createReceiver(options as unknown as ReceiverOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it("nothing at the very edge", () => {
    expect(createReceiver({ secret, answerWithinMs: 2 ** 31 - 1 })).toBeTypeOf("function");
  });
});

describe("a listener that fails costs no delivery:", () => {
  it.each([
    [
      "onOutcome throws",
      {
        onOutcome: () => {
          throw new RangeError("+48600100200");
        },
      },
    ],
    ["onOutcome rejects", { onOutcome: async () => Promise.reject(new RangeError("x")) }],
    [
      "log throws",
      {
        accept: () => Promise.reject(new Error("x")),
        log: () => {
          throw new Error("disk full");
        },
      },
    ],
    [
      "log rejects",
      {
        accept: () => Promise.reject(new Error("x")),
        log: async () => Promise.reject(new Error("disk full")),
      },
    ],
  ] as [string, Partial<ReceiverOptions>][])("%s", async (_name, options) => {
    const { receive, log } = receiverWith(options);
    expect((await receive(posted(signedDelivery(balanceChanged())))).status).toBe(options.accept ? 503 : 204);
    expect(log.join()).not.toContain("600100200");
  });
});

it.each(["", "identity", " Identity "])("a content encoding of %j is none", async (encoding) => {
  const { receive } = receiverWith();
  const { body, headers } = signedDelivery(balanceChanged());
  expect(
    (await receive({ method: "POST", headers: { ...headers, "content-encoding": encoding }, rawBody: body }))
      .status,
  ).toBe(204);
});

it.each([["identity", "gzip"], ["gzip"], ["br, identity"]])(
  "content encodings %j are refused",
  async (...encodings) => {
    const { receive } = receiverWith();
    const { body, headers } = signedDelivery(balanceChanged());
    const request = { method: "POST", headers: { ...headers, "content-encoding": encodings }, rawBody: body };
    expect((await receive(request)).status).toBe(415);
  },
);

it("a body that was parsed is 500, and the log names the fix", async () => {
  const { receive, log, outcomes } = receiverWith();
  const { body, headers } = signedDelivery(balanceChanged());
  const answer = await receive({ method: "POST", headers, rawBody: JSON.parse(body) });
  expect(answer.status).toBe(500);
  expect(log).toEqual([expect.stringMatching(/parsed before the webhook receiver saw it/)]);
  expect(outcomes).toMatchObject([{ outcome: "misconfigured", reason: "already-consumed" }]);
});

describe("without onOutcome, a rejected delivery", () => {
  /** A receiver whose clock for pauses between lines is the test's. */
  function logging(options: Partial<ReceiverOptions> = {}) {
    const clock = { nowMs: 0 };
    const log: string[] = [];
    const receive = createReceiver({
      secret,
      accept: () => {},
      log: (line) => log.push(line),
      monotonicNow: () => clock.nowMs,
      ...options,
    });
    return { receive, log, clock };
  }
  const nowSeconds = 1_800_000_000;
  const now = () => nowSeconds * 1000;
  const signed = (timestamp: number, key = secret) => signedDelivery(balanceChanged(), { timestamp, key });
  const unsigned = (signature?: string): ReceivedRequest => ({
    method: "POST",
    headers: signature === undefined ? {} : { "service-signature": signature },
    rawBody: "{}",
  });

  it.each<[string, ReceivedRequest, number, RegExp]>([
    [
      "without a signature",
      unsigned(),
      401,
      /rejected: missing-signature; is this the service, or does a proxy/,
    ],
    [
      "with a malformed one",
      unsigned("sha256=00"),
      401,
      /rejected: malformed-signature; .*t=<unix seconds>,v1=/,
    ],
    [
      "ten minutes old",
      posted(signed(nowSeconds - 612)),
      401,
      /rejected: stale by 612 s: check the clock of this machine/,
    ],
    ["of the future", posted(signed(nowSeconds + 301)), 401, /rejected: future by 301 s: check the clock/],
    [
      "of another secret",
      posted(signed(nowSeconds, "whsec_other")),
      401,
      /rejected: mismatch; is this the secret of this endpoint\?/,
    ],
    ["by GET", posted(signed(nowSeconds), { method: "GET" }), 405, /rejected: not-post; .*POST only/],
    [
      "that is compressed",
      posted({ ...signed(nowSeconds), headers: { "content-encoding": "gzip" } }),
      415,
      /rejected: encoded; /,
    ],
    [
      "that is too large",
      posted(signed(nowSeconds), { rawBody: " ".repeat(2 ** 20 + 1) }),
      413,
      /rejected: too-large; .*maxBodyBytes/,
    ],
  ])("%s is one line that names the reason and what to check", async (_name, request, status, line) => {
    const { receive, log } = logging({ now });
    expect((await receive(request)).status).toBe(status);
    expect(log).toEqual([expect.stringMatching(line)]);
    expect(log.join()).not.toMatch(/whsec|card_1|evt_1/);
  });

  it("is a line when its body does not come in time, and a line when accept takes too long", async () => {
    const { receive, log } = logging({ now, answerWithinMs: 20, accept: () => new Promise(() => {}) });
    const never = () => new Promise<never>(() => {});
    expect((await receive(posted(signed(nowSeconds), { rawBody: never }))).status).toBe(408);
    expect((await receive(posted(signed(nowSeconds)))).status).toBe(503);
    expect(log).toEqual([
      expect.stringMatching(/rejected: too-slow; the body did not arrive within answerWithinMs/),
      expect.stringMatching(/accept or the inbox took longer than answerWithinMs; responded 503/),
    ]);
  });

  it("is one line a minute for each reason, however many come, and the next line counts the others", async () => {
    const { receive, log, clock } = logging({ now });
    const forged = posted(signed(nowSeconds, "whsec_other"));
    for (let count = 0; count < 1_000; count++) {
      await receive(forged);
      await receive(unsigned());
    }
    expect(log).toHaveLength(2);
    clock.nowMs = 59_999;
    await receive(forged);
    expect(log).toHaveLength(2);
    clock.nowMs = 60_000;
    await receive(forged);
    expect(log).toHaveLength(3);
    expect(log[2]).toMatch(/mismatch; .*\(1000 more since the last line about this\.\)$/);
    clock.nowMs = 120_000;
    await receive(forged);
    expect(log[3]).toMatch(/mismatch; /);
    expect(log[3]).not.toMatch(/more since/);
  });

  it.each<[string, () => number]>([
    [
      "throws",
      () => {
        throw new Error("gone");
      },
    ],
    ["gives no number", () => Number.NaN],
  ])("is a 401 also when monotonicNow %s later, with at most one line", async (_name, broken) => {
    let clock = () => 0;
    const { receive, log } = logging({ now, monotonicNow: () => clock() });
    clock = broken;
    for (let count = 0; count < 10; count++) expect((await receive(unsigned())).status).toBe(401);
    expect(log).toHaveLength(1);
  });

  it("is not logged when onOutcome is there, which gets the seconds", async () => {
    const outcomes: ReceiverOutcome[] = [];
    const { receive, log } = logging({ now, onOutcome: (outcome) => outcomes.push(outcome) });
    await receive(posted(signed(nowSeconds - 612)));
    await receive(posted(signed(nowSeconds + 612)));
    await receive(unsigned());
    expect(log).toEqual([]);
    expect(outcomes).toMatchObject([
      { outcome: "rejected", reason: "stale", skewSeconds: 612 },
      { outcome: "rejected", reason: "future", skewSeconds: -612 },
      { outcome: "rejected", reason: "missing-signature" },
    ]);
    expect(outcomes[2]).not.toHaveProperty("skewSeconds");
  });
});

it("a mistake in the program is one line a minute, because anybody can send a header of the right form", async () => {
  const { receive, log } = receiverWith({ monotonicNow: () => 0 });
  const { body } = signedDelivery(balanceChanged());
  const forged = `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}`;
  for (let count = 0; count < 100; count++) {
    const headers = { "service-signature": forged };
    expect((await receive({ method: "POST", headers, rawBody: JSON.parse(body) })).status).toBe(500);
  }
  expect(log).toEqual([expect.stringMatching(/parsed before the webhook receiver saw it/)]);
});
