/** The receiver without a framework: valid deliveries, invalid events, options. */
import { createGate } from "@loyalty-cards/testing/resources";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it, vi } from "vitest";
import {
  createReceiver,
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
  signWebhookSync,
} from "../src/index.ts";
import { createTestReceiver, post } from "./test-receiver.ts";

describe("a valid delivery", () => {
  it("responds 204 after handler has resolved", async () => {
    const seen: string[] = [];
    const { receive, outcomes } = createTestReceiver({
      handler: (event) => void seen.push(event.id),
      now: () => 1_767_225_600_999,
    });
    const startedMs = performance.now();
    const response = await receive(
      post(signedDelivery(balanceChanged(), { timestamp: 1_767_225_600 })),
    );
    expect(outcomes[0]?.durationMs).toBeLessThanOrEqual(performance.now() - startedMs);
    expect(response.status).toBe(204);
    expect(seen).toEqual(["evt_1"]);
    expect(response.afterResponse).toBeUndefined();
    expect(outcomes).toMatchObject([
      {
        outcome: "verified",
        status: 204,
        event: { id: "evt_1", type: "balance.changed" },
        skewSeconds: 0,
      },
    ]);
    expect(outcomes).toMatchObject([{ eventTypeMismatch: false }]);
  });

  it("leaves no timer when it has responded", async () => {
    const countTimers = () =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const { opened, open } = createGate();
    const { receive } = createTestReceiver({ timeoutMs: 60_000, handler: () => opened });
    const before = countTimers();
    const response = receive(post(signedDelivery(balanceChanged())));
    expect(countTimers()).toBe(before + 1);
    open();
    await response;
    expect(countTimers()).toBe(before);
  });

  it("passes the id, the bytes and the time of the delivery to handler", async () => {
    const seen: unknown[] = [];
    const nowMs = Date.now();
    const { receive } = createTestReceiver({
      now: () => nowMs,
      handler: (_event, { id, rawBody, receivedAt, signal }) =>
        void seen.push([
          id,
          new TextDecoder().decode(rawBody),
          receivedAt.getTime(),
          signal.aborted,
        ]),
    });
    const delivery = signedDelivery(balanceChanged());
    const { "service-delivery": _, ...headers } = delivery.headers;
    await receive(post(delivery));
    await receive(post({ ...delivery, headers }));
    expect(seen).toEqual([
      ["dlv_1", delivery.body, nowMs, false],
      [undefined, delivery.body, nowMs, false],
    ]);
  });

  // G17
  it("uses the type in the signed body, also an unknown one, and reports a header that names another", async () => {
    const seen: string[] = [];
    const { receive, outcomes } = createTestReceiver({
      handler: (event) => void seen.push(event.type),
    });
    const { body, headers } = signedDelivery(balanceChanged());
    for (const header of ["card.added", "balance.changed", undefined])
      await receive({
        method: "POST",
        headers: { ...headers, "service-event": header },
        rawBody: body,
      });
    await receive(post(signedDelivery({ ...balanceChanged(), type: "card.renamed" })));
    expect(seen).toEqual(["balance.changed", "balance.changed", "balance.changed", "card.renamed"]);
    const mismatches = [true, false, false, false];
    expect(outcomes).toMatchObject(mismatches.map((eventTypeMismatch) => ({ eventTypeMismatch })));
  });

  it("accepts a body of exactly maxBodyBytes, with and without content-length", async () => {
    const { body, headers } = signedDelivery(balanceChanged());
    const { receive } = createTestReceiver({ maxBodyBytes: body.length });
    for (const announced of [String(body.length), undefined]) {
      const request = {
        method: "POST",
        headers: { ...headers, "content-length": announced },
        rawBody: body,
      };
      expect((await receive(request)).status).toBe(204);
    }
  });

  it.each([
    ["12", { maxBodyBytes: 100, expectedBytes: 12 }],
    [undefined, { maxBodyBytes: 100 }],
    ["12 bytes", { maxBodyBytes: 100 }],
    ["-12", { maxBodyBytes: 100 }],
    ["1e1", { maxBodyBytes: 100 }],
  ])("reads a body with content-length %s within %j", async (announced, limits) => {
    const { receive } = createTestReceiver({ maxBodyBytes: 100 });
    const { headers } = signedDelivery(balanceChanged());
    const seen: unknown[] = [];
    const rawBody = async (given: unknown) => {
      seen.push(given);
      return "";
    };
    await receive({
      method: "POST",
      headers: { ...headers, "content-length": announced },
      rawBody,
    });
    expect(seen).toEqual([limits]);
  });

  it("reports which secret matched and the clock skew", async () => {
    const { receive, outcomes } = createTestReceiver({
      secret: [
        { key: "whsec_new", id: "new" },
        { key: secret, id: "old" },
      ],
      now: () => 1_767_225_642_000,
    });
    await receive(post(signedDelivery(balanceChanged(), { timestamp: 1_767_225_600 })));
    expect(outcomes).toMatchObject([{ secretId: "old", skewSeconds: 42 }]);
  });

  it("reads headers of any case, from a record and from Headers", async () => {
    const { receive } = createTestReceiver();
    const { body, headers } = signedDelivery(balanceChanged());
    const upper = { "SERVICE-SIGNATURE": headers["service-signature"] };
    for (const form of [upper, new Headers(headers)])
      expect((await receive({ method: "POST", headers: form, rawBody: body })).status).toBe(204);
  });

  it("tries the signatures of all lines of the header, as of one line; two timestamps are malformed", async () => {
    const { receive, outcomes } = createTestReceiver();
    const { body, headers } = signedDelivery(balanceChanged());
    const genuine = headers["service-signature"] as string;
    const deliver = async (...lines: string[]) =>
      (await receive({ method: "POST", headers: { "service-signature": lines }, rawBody: body }))
        .status;
    const other = `v1=${"0".repeat(64)}`;
    expect([
      await deliver(genuine, other),
      await deliver(genuine.replace(/v1=.*/, other), genuine.slice(13)),
    ]).toEqual([204, 204]);
    expect([await deliver(genuine, genuine), await deliver(other)]).toEqual([401, 401]);
    expect(outcomes.slice(2)).toMatchObject(Array(2).fill({ reason: "malformed-signature" }));
  });
});

describe("a valid delivery whose data differs from the contract", () => {
  const other = (type: string, data: unknown) => ({ ...balanceChanged(), type, data });
  const { data: whole } = balanceChanged();

  // The types in on-events.test.ts.
  it("accepts it, and reports the paths", async () => {
    const seen: unknown[] = [];
    const { receive, outcomes } = createTestReceiver({
      handler: (event) => void seen.push(event),
    });
    const event = other("balance.changed", { ...whole, passId: 1, balance: null });
    expect((await receive(post(signedDelivery(event)))).status).toBe(204);
    await receive(post(signedDelivery(balanceChanged())));
    const unexpectedData = ["/data/passId", "/data/balance"];
    expect(seen).toEqual([event, balanceChanged()]);
    expect(outcomes[0]).toMatchObject({
      outcome: "verified",
      event: { id: "evt_1" },
      unexpectedData,
    });
    expect(outcomes[1]).not.toHaveProperty("unexpectedData");
  });

  it("logs the paths once per type, without values", async () => {
    const { receive, log, outcomes } = createTestReceiver();
    const personal = { ...whole, passId: 600100200, balance: "anna@example.com" };
    for (let count = 0; count < 3; count++) {
      const event = { ...other("balance.changed", personal), id: `evt_${count}` };
      await receive(post(signedDelivery(event)));
      await receive(post(signedDelivery(other("card.added", null))));
    }
    expect(log).toEqual([
      expect.stringMatching(
        /data of balance\.changed evt_0 .* at \/data\/passId, \/data\/balance\. /,
      ),
      expect.stringMatching(/data of card\.added evt_1 .* at \/data\. /),
    ]);
    expect(log.join()).not.toMatch(/anna|600100200/);
    expect(outcomes.filter((outcome) => "unexpectedData" in outcome)).toHaveLength(6);
  });

  it("responds 503 when onEvents has a handler for the type and no `unexpectedData`", async () => {
    const called: string[] = [];
    const handler = (event: { type: string }) => void called.push(event.type);
    const { deliver, receive, outcomes, log } = createTestReceiver({
      handler: onEvents({ "balance.changed": handler, otherTypes: handler }),
    });
    const response = await receive(post(signedDelivery(other("balance.changed", null))));
    expect([response.status, response.headers, called]).toEqual([503, { "retry-after": "60" }, []]);
    expect(outcomes).toMatchObject([
      { outcome: "failed", reason: "handler-error", unexpectedData: ["/data"] },
    ]);
    expect(log).toEqual([
      expect.stringMatching(/the data of balance\.changed evt_1 differs .* at \/data\./),
      expect.stringMatching(
        /balance\.changed evt_1 failed: Error at \S+: The data of balance\.changed lacks what its handler needs at \/data: update .*; responded 503/,
      ),
    ]);
    expect(await deliver()).toBe(204);
    expect(called).toEqual(["balance.changed"]);
  });
});

describe("a signed body that is not an event", () => {
  const changed = (from: string, to: string) => JSON.stringify(balanceChanged()).replace(from, to);
  it.each<[string | Uint8Array, RegExp]>([
    ["", /the body is not JSON/],
    ["[]", /the body is not a JSON object/],
    [Uint8Array.of(0x7b, 0xff, 0x7d), /the body is not UTF-8/],
    [changed('"evt_1"', "1"), /id is not a string/],
    [changed("evt_1", ""), /id is empty/],
    [changed("evt_1", "evt\\u0000"), /id has a NUL character/],
    [changed("evt_1", "evt\\ud83c"), /id has a NUL .* or half of a surrogate/],
    [changed("evt_1", "e".repeat(513)), /id has more than 512 characters/],
    [changed("balance.changed", "\\u0000"), /type has a NUL character/],
    [changed("createdAt", "created"), /createdAt is not a string/],
    [changed("2026", "\\udfff"), /createdAt has a NUL .* or half/],
  ])("gets 400, and the log says why: %s", async (body, why) => {
    const accepted: unknown[] = [];
    const { receive, log, outcomes } = createTestReceiver({
      handler: (event) => void accepted.push(event),
    });
    const headers = { "service-signature": signWebhookSync({ rawBody: body, secret }) };
    expect((await receive({ method: "POST", headers, rawBody: body })).status).toBe(400);
    expect(log).toEqual([expect.stringMatching(why)]);
    expect(log.join()).not.toContain("evt");
    expect([accepted, outcomes]).toMatchObject([
      [],
      [{ outcome: "rejected", reason: "invalid-payload" }],
    ]);
  });
});

it("logs the type and the id of an event on one line, and shortens them", async () => {
  const { receive, log } = createTestReceiver({ handler: () => Promise.reject(new Error("down")) });
  const event = { id: "evt\n1 is fine\u2028\u202e", type: "x\r\n".repeat(5_000), createdAt: "x" };
  expect((await receive(post(signedDelivery(JSON.stringify(event))))).status).toBe(503);
  expect(log).toHaveLength(1);
  expect(log[0]).not.toMatch(/[\r\n\u2028\u202e]/);
  expect(log[0]?.length).toBeLessThan(600);
});

describe("createReceiver", () => {
  it.each<[object | string | undefined | null, RegExp]>([
    [{}, /secret is undefined: is LOYALTY_SIGNING_SECRET set\?/], // other secrets in verify.test.ts
    [{ secret, toleranceSeconds: -1 }, /toleranceSeconds must/],
    [{ secret, toleranceSeconds: 300_000 }, /toleranceSeconds must .* of seconds from 0 to 86400/],
    [{ secret, maxBodyBytes: Number.NaN }, /maxBodyBytes must be a positive .* is NaN/],
    [{ secret, secretMaxAgeSeconds: 0 }, /secretMaxAgeSeconds must be a positive/],
    [{ secret, secretMaxAgeSeconds: Number.POSITIVE_INFINITY }, /secretMaxAgeSeconds/],
    [{ secret, secretMaxAgeSeconds: "300" }, /secretMaxAgeSeconds/],
    [{ secret, timeoutMs: 0 }, /timeoutMs must be a positive number/],
    [{ secret, timeoutMs: 2 ** 31 }, /at most 2147483647/],
    [
      { secret, accept: () => {} },
      /^createReceiver has no option "accept"\. Its options are .*handler, afterResponse/,
    ],
    [
      { secret, testing: { clok: {} } },
      /^testing of createReceiver has no option "clok"\. .* clock\?/,
    ],
    [{ secret, handler: undefined }, /handler must be a function; it is undefined/],
    [{ secret, handler: null }, /handler must be a function; it is null/],
    [
      { secret, handler: { ping() {} } },
      /handler must be a function; it is object\. Pass .* onEvents\(/,
    ],
    [
      { secret, afterResponse: "save" },
      /afterResponse must be a function; it is string\. Omit it, or check where it comes from\./,
    ],
    [{ secret, afterResponse: undefined }, /afterResponse must be a function; it is undefined/],
    [{ secret, onOutcome: {} }, /onOutcome must be a function/],
    [{ secret, log: console }, /log must be a function/],
    [{ secret, inbox: undefined }, /inbox must have a method put/],
    [{ secret, inbox: Promise.resolve() }, /await pgBossInbox\(…\) .* it is promise \(await it\)/],
    [{ secret, inbox() {} }, /as sqliteInbox\(\{ … \}\) .* it is function/],
    [
      { secret, handler() {}, dedupe: new Set() },
      /dedupe must have the methods claim, complete and release/,
    ],
    [
      { secret, handler() {}, dedupe: { claim() {}, complete() {} } },
      /dedupe must have the methods claim, complete and release, .* check where it comes from\./,
    ],
    [{ secret, dedupe: memoryDedupe() }, /dedupe needs handler, afterResponse or inbox/],
    [undefined, /needs options/],
    [null, /needs options/],
    [secret, /needs options/],
  ])("throws for %j: %s", (options, message) => {
    const make = () => createReceiver(options as unknown as ReceiverOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it("needs no handler, because the response has the event", async () => {
    const receive = createReceiver({ secret });
    expect(await receive(post(signedDelivery(balanceChanged())))).toMatchObject({
      status: 204,
      event: balanceChanged(),
    });
  });

  it("accepts the longest timeout of a timer, and an omitted function", () => {
    const options = {
      secret,
      timeoutMs: 2 ** 31 - 1,
      log: undefined,
    } as unknown as ReceiverOptions;
    expect(createReceiver(options)).toBeTypeOf("function");
  });
});

it("is not affected by an onOutcome that throws or rejects, and logs no message of its error", async () => {
  for (const fail of [
    Promise.reject.bind(Promise),
    (error: Error) => {
      throw error;
    },
  ]) {
    const { deliver, log } = createTestReceiver({
      onOutcome: () => fail(new RangeError("+48600100200")),
    });
    expect(await deliver()).toBe(204);
    await new Promise(setImmediate);
    expect(log).toEqual(["webhook-verify: onOutcome threw RangeError; it must not throw."]);
  }
});

it("writes its lines to the console when log throws, such as a method without its object", async () => {
  const console = vi.spyOn(globalThis.console, "error").mockImplementation(() => {});
  const log = function (this: Console) {
    this.error("a logger of the shop");
  } as () => void;
  const handler = onEvents({ otherTypes: () => {} }, { log });
  const receive = createReceiver({ secret, log, handler });
  await receive(post(signedDelivery(balanceChanged(), { key: "of another endpoint" })));
  const unknown = { ...balanceChanged(), type: "card.renamed" };
  expect((await receive(post(signedDelivery(unknown)))).status).toBe(204);
  expect(console.mock.calls.flat()).toEqual([
    expect.stringMatching(
      /^webhook-verify: .*mismatch.* \(log threw TypeError; it must not throw\.\)$/,
    ),
    expect.stringMatching(
      /^webhook-verify: onEvents has no handler .* \(log threw TypeError; it must not throw\.\)$/,
    ),
  ]);
  console.mockRestore();
});
