/**
 * The receiver without a framework: deliveries that it rejects, how they are reported and logged,
 * and how it reads bodies.
 */
import { createGate } from "@loyalty-cards/testing/resources";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { describe, expect, it } from "vitest";
import { collectBody, decodeBase64, type ReceivedRequest, toBytes } from "../src/body.ts";
import type { ReceiverOptions, ReceiverOutcome } from "../src/index.ts";
import { describeRejection } from "../src/reasons.ts";
import { createAdapterReceiver } from "../src/receiver.ts";
import { createTestClock, createTestReceiver, post } from "./test-receiver.ts";

/** A receiver without onOutcome, which logs; with a test clock for the intervals between lines. */
function createLogging(options: Partial<ReceiverOptions> = {}) {
  const clock = createTestClock();
  const defaults = { now, testing: { clock }, onOutcome: undefined as never };
  return { ...createTestReceiver({ ...defaults, ...options }), clock };
}

const nowSeconds = 1_800_000_000;
const now = () => nowSeconds * 1000;
const signed = (timestamp = nowSeconds, key = secret) =>
  signedDelivery(balanceChanged(), { timestamp, key });
const unsigned = (signature?: string): ReceivedRequest => ({
  method: "POST",
  headers: signature === undefined ? {} : { "service-signature": signature },
  rawBody: "{}",
});

describe("a rejected delivery", () => {
  const rejections: [number, string, ReceivedRequest, RegExp][] = [
    [401, "missing-signature", unsigned(), /; is this the service, or does a proxy/],
    [401, "malformed-signature", unsigned("sha256=00"), /; .*t=<unix seconds>,v1=/],
    [401, "stale", post(signed(nowSeconds - 612)), /; signed 612 s ago by this machine's clock/],
    [401, "future", post(signed(nowSeconds + 301)), /; signed 301 s ahead of this machine's clock/],
    [
      401,
      "mismatch",
      post(signed(nowSeconds, "whsec_other")),
      /; the signature does not match .* A secret whose notAfter has passed is not tried\./,
    ],
    [405, "method-not-allowed", post(signed(), { method: "PUT" }), /; .*POST only/],
    [413, "too-large", post(signed(), { rawBody: " ".repeat(2 ** 20 + 1) }), /; .*maxBodyBytes/],
    [
      415,
      "unsupported-encoding",
      post({ ...signed(), headers: { "content-encoding": "gzip" } }),
      /; the body is compressed/,
    ],
  ];

  // G5, G15, G19
  it.each(rejections)(
    "responds %i for %s, which only onOutcome gets, or a log line that says what to check",
    async (status, reason, request, line) => {
      const reporting = createTestReceiver({ now, handler: () => {} });
      const response = await reporting.receive(request);
      expect([response.status, Object.keys(response)]).toEqual([status, ["status", "headers"]]);
      const skew = { stale: { skewSeconds: 612 }, future: { skewSeconds: -301 } }[reason];
      const durationMs = expect.any(Number);
      expect(reporting.outcomes).toStrictEqual([
        { outcome: "rejected", status, reason, durationMs, ...skew },
      ]);
      expect(reporting.log).toEqual([]);

      const { receive, log } = createLogging();
      expect((await receive(request)).status).toBe(status);
      expect(log).toEqual([expect.stringMatching(line)]);
      expect(log[0]).toMatch(
        new RegExp(`rejected: ${reason}; .* See https:\\S+/errors#webhook-${reason}$`),
      );
      expect(log.join()).not.toMatch(/whsec|card_1|evt_1/);
    },
  );

  it("has headers in its response that say what to change", async () => {
    const { receive } = createTestReceiver({ now, maxBodyBytes: 1000 });
    const getHeaders = async (overrides: Partial<ReceivedRequest>) =>
      (await receive(post(signed(), overrides))).headers;
    expect(await getHeaders({ method: "PUT" })).toEqual({ allow: "POST" });
    expect(await getHeaders({ rawBody: "x".repeat(2000) })).toEqual({ connection: "close" });
    const headers = { "content-encoding": "gzip" };
    expect(await getHeaders({ headers })).toEqual({ "accept-encoding": "identity" });
  });

  it("responds 400 when the connection ends before the body, and logs nothing", async () => {
    const outcomes: ReceiverOutcome[] = [];
    const log: string[] = [];
    const { receive } = createAdapterReceiver(
      { name: "the receiver of an adapter", bodyAdvice: "" },
      {
        secret,
        handler: () => {},
        onOutcome: (outcome) => outcomes.push(outcome),
        log: (line) => log.push(line),
      },
    );
    const { headers } = signedDelivery(balanceChanged());
    const readBody = () => ({ failure: { reason: "unreadable" } }) as const;
    const response = await receive({ method: "POST", headers }, readBody);
    expect([response.status, response.headers, log]).toEqual([400, { connection: "close" }, []]);
    expect(outcomes).toMatchObject([{ outcome: "rejected", reason: "unreadable" }]);
    expect(describeRejection("unreadable")).toBe(
      "unreadable; the connection ended before the body did.",
    );
  });

  it.each([
    ["an event", signedDelivery(balanceChanged())],
    ["no event", signedDelivery("[]")],
    ["signed with another secret", signedDelivery(balanceChanged(), { key: "whsec_other" })],
  ])(
    "accepts and logs nothing when the body arrives after the response, and is %s",
    async (_name, late) => {
      const arrived = createGate();
      const accepted: string[] = [];
      let loads = 0;
      const { receive, outcomes, log } = createTestReceiver({
        timeoutMs: 10,
        secret: () => {
          loads += 1;
          return secret;
        },
        handler: ({ id }) => void accepted.push(id),
      });
      const rawBody = () => arrived.opened.then(() => late.body);
      expect((await receive(post(late, { rawBody }))).status).toBe(408);
      loads = 0; // the receiver tries the secret at its start too
      arrived.open();
      await new Promise(setImmediate); // the remaining promises are already settled
      expect(loads).toBe(0);
      expect([accepted, log, outcomes.map(({ outcome }) => outcome)]).toEqual([
        [],
        [],
        ["rejected"],
      ]);
    },
  );

  it("does not read the body when a header is invalid", async () => {
    const { receive, outcomes } = createTestReceiver();
    let reads = 0;
    const rawBody = async () => {
      reads++;
      return "";
    };
    await receive({ method: "POST", headers: { "service-signature": "t=1,v1=00" }, rawBody });
    const { headers } = signedDelivery(balanceChanged());
    await receive({
      method: "POST",
      headers: { ...headers, "content-length": "2000000" },
      rawBody,
    });
    expect(reads).toBe(0);
    expect(outcomes).toMatchObject([
      { reason: "malformed-signature" },
      { status: 413, reason: "too-large" },
    ]);
  });
});

it.each([
  ["", 204],
  ["identity", 204],
  [" Identity ", 204],
  [["identity", "gzip"], 415],
  ["br, identity", 415],
])("responds to the content encoding %j with %i", async (encoding, status) => {
  const { receive } = createTestReceiver();
  const { body, headers } = signedDelivery(balanceChanged());
  const request = {
    method: "POST",
    headers: { ...headers, "content-encoding": encoding },
    rawBody: body,
  };
  expect((await receive(request)).status).toBe(status);
});

it.each(["2026-01-01T00:00:00.000Z", Number.NaN, undefined])(
  "responds 500 when `now` returns %j later, accepts nothing, and logs the fix",
  async (invalid) => {
    let clock: () => unknown = Date.now;
    const { deliver, receive, log, outcomes } = createTestReceiver({
      now: () => clock() as number,
    });
    // Years old: to a comparison with NaN it is fresh.
    const stale = signedDelivery(balanceChanged(), { timestamp: 1 });
    expect((await receive(post(stale))).status).toBe(401);
    clock = () => invalid;
    for (const delivery of [stale, signedDelivery(balanceChanged())])
      expect(await receive(post(delivery))).toEqual({ status: 500, headers: {} });
    expect(log).toEqual([expect.stringMatching(/`now` function .* It must return a number/)]); // one line for both
    const misconfigured = { outcome: "misconfigured", reason: "invalid-clock", status: 500 };
    expect(outcomes.slice(1)).toMatchObject([misconfigured, misconfigured]);
    clock = Date.now;
    expect(await deliver()).toBe(204);
  },
);

it("responds 503 when `now` throws later, reports the error, and logs no message of it", async () => {
  let clock = Date.now;
  const { receive, log, outcomes } = createTestReceiver({ now: () => clock() });
  const error = new Error("the clock of anna@example.com");
  clock = () => {
    throw error;
  };
  const response = await receive(post(signedDelivery(balanceChanged())));
  expect(response).toEqual({ status: 503, headers: { "retry-after": "60" } });
  expect(outcomes).toMatchObject([{ outcome: "error", error, status: 503 }]);
  const line = /the receiver failed: Error at .*; responded 503, so the service delivers again\.$/;
  expect(log).toEqual([expect.stringMatching(line)]);
  expect(log[0]).not.toContain("anna@example.com");
});

describe("a rejected delivery without onOutcome", () => {
  it("is logged when its body does not arrive in time, and when handler takes too long", async () => {
    const { receive, log } = createLogging({ timeoutMs: 20, handler: () => new Promise(() => {}) });
    const never = () => new Promise<never>(() => {});
    const response = await receive(post(signed(), { rawBody: never }));
    expect([response.status, response.headers]).toEqual([408, { connection: "close" }]);
    expect((await receive(post(signed()))).status).toBe(503);
    expect(log).toEqual([
      expect.stringMatching(/rejected: timeout; the body did not arrive within timeoutMs/),
      expect.stringMatching(
        /: balance\.changed evt_1: handler, .* took longer than timeoutMs \(20 ms\); responded 503/,
      ),
    ]);
  });

  it("is logged once a minute for each reason, with the number of suppressed lines", async () => {
    const { receive, log, clock } = createLogging();
    const forged = post(signed(nowSeconds, "whsec_other"));
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
    clock.nowMs = 179_999;
    await receive(forged);
    expect(log).toHaveLength(4);
  });
});

it("responds 500 to a parsed body, and logs the fix once a minute, because anyone can send a well-formed header", async () => {
  const { receive, log, outcomes } = createTestReceiver({ testing: { clock: createTestClock() } });
  const { body } = signedDelivery(balanceChanged());
  const headers = {
    "service-signature": `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}`,
  };
  const readBefore = () => Promise.reject(new TypeError("the body was read"));
  for (const rawBody of [JSON.parse(body), readBefore, JSON.parse(body)])
    expect((await receive({ method: "POST", headers, rawBody })).status).toBe(500);
  expect(log).toEqual([
    expect.stringMatching(
      /parsed before the webhook receiver could read it.*For a Request, use fetchReceiver of @loyalty-cards\/webhook-verify\/fetch/,
    ),
  ]);
  expect(outcomes).toMatchObject(
    Array(3).fill({ outcome: "misconfigured", reason: "already-consumed" }),
  );
});

it.each(["text", { headers: {}, rawBody: "{}" }, { method: "POST", rawBody: "{}" }])(
  "responds 503 to %j, which is no request, and logs what to pass",
  async (request) => {
    const { receive, log } = createTestReceiver();
    expect((await receive(request as never)).status).toBe(503);
    const line = /Pass \{ method, headers, rawBody \}, where .*verify\/fetch; responded 503/;
    expect(log).toEqual([expect.stringMatching(line)]);
  },
);

describe("the bytes of a body", () => {
  async function* stream(...chunks: unknown[]) {
    yield* chunks;
  }
  const whole = new Uint8Array([1, 2, 3]);

  it.each([undefined, 0, 5, 1_000])(
    "are joined in order up to exactly maxBodyBytes, with a content-length of %s",
    async (expectedBytes) => {
      const limits = { maxBodyBytes: 8, expectedBytes };
      const chunks = [
        Buffer.from("ab"),
        new Uint8Array(),
        Buffer.from("cccc"),
        new Uint16Array([0x6564]),
      ];
      const { value } = await collectBody(stream(...chunks), limits);
      expect(Buffer.from(value?.buffer as ArrayBuffer).toString()).toBe("abccccde"); // it has no room for more
      const longer = await collectBody(stream(...chunks, new Uint8Array(1)), limits);
      expect(longer).toEqual({ failure: { reason: "too-large" } });
    },
  );

  it("are not copied when they arrive in one chunk", async () => {
    for (const expectedBytes of [undefined, 3])
      expect((await collectBody(stream(whole), { maxBodyBytes: 100, expectedBytes })).value).toBe(
        whole,
      );
    expect(toBytes(whole)).toBe(whole);
  });

  it("are rejected as text, which decoding may have changed, and when the stream fails", async () => {
    async function* broken() {
      yield whole;
      throw new Error("ECONNRESET");
    }
    const getReason = async (chunks: AsyncIterable<unknown>) =>
      (await collectBody(chunks, { maxBodyBytes: 100 })).failure?.reason;
    expect(await getReason(broken())).toBe("unreadable");
    expect(await getReason(stream("text"))).toBe("already-consumed");
  });

  it("are decoded from base64 within the limit", () => {
    expect(decodeBase64("AP+A", 3).value).toEqual(Uint8Array.of(0, 255, 128));
    expect(decodeBase64("AP+AAA==", 4).value).toEqual(Uint8Array.of(0, 255, 128, 0));
    expect(decodeBase64("AP+AAA==", 3)).toEqual({ failure: { reason: "too-large" } });
    expect(decodeBase64("AP*A", 3)).toEqual({ failure: { reason: "unreadable" } });
  });

  it("are decoded from base64 in a time that a forged delivery cannot make long", () => {
    const long = "A".repeat(2 ** 20);
    const measure = (decode: () => unknown) => {
      const times = Array.from({ length: 5 }, () => {
        const startedMs = performance.now();
        decode();
        return performance.now() - startedMs;
      });
      return Math.min(...times);
    };
    const ownMs = measure(() => decodeBase64(long, 2 ** 20));
    expect(ownMs).toBeLessThan(40 * measure(() => atob(long)));
  });
});
