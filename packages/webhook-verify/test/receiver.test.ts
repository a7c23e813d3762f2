/** The receiver without any framework: every case of the answer table, and what it tells about each. */
import { describe, expect, it } from "vitest";
import {
  createReceiver,
  type DedupeStore,
  memoryDedupe,
  type ReceivedRequest,
  type ReceiverOptions,
  type ReceiverOutcome,
  type Secret,
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
    let nowMs = Date.now();
    let current: Secret = "whsec_old";
    let asked = 0;
    const { receive } = receiverWith({
      now: () => nowMs,
      secret: () => {
        asked++;
        return current;
      },
    });
    const deliver = async () =>
      (await receive(posted(signedDelivery(balanceChanged(), { timestamp: Math.floor(nowMs / 1000) }))))
        .status;

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
    let nowMs = Date.now();
    let asked = 0;
    const { receive } = receiverWith({ now: () => nowMs, secret: () => (++asked < 3 ? fail() : secret) });
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
