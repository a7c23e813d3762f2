/** The receiver without a framework: deliveries that it rejects, and how they are reported and logged. */

import { describe, expect, it } from "vitest";
import { RawBodyError } from "../src/body.ts";
import { createReceiver, type ReceiverOptions, type ReceiverOutcome } from "../src/index.ts";
import type { ReceivedRequest } from "../src/receiver.ts";
import {
  balanceChanged,
  createGate,
  createTestClock,
  createTestReceiver,
  post,
  secret,
  signedDelivery,
} from "./signed-delivery.ts";

describe("a rejected delivery", () => {
  const rejections: [string, number, string, () => ReceivedRequest][] = [
    ["no signature", 401, "missing-signature", () => post(signedDelivery(balanceChanged()), { headers: {} })],
    ["another secret", 401, "mismatch", () => post(signedDelivery(balanceChanged(), { key: "whsec_other" }))],
    ["a stale signature", 401, "stale", () => post(signedDelivery(balanceChanged(), { timestamp: 1 }))],
    ["a signed body that is not an event", 400, "invalid-payload", () => post(signedDelivery("[]"))],
    ["GET", 405, "method-not-allowed", () => post(signedDelivery(balanceChanged()), { method: "GET" })],
    [
      "a compressed body",
      415,
      "unsupported-encoding",
      () => {
        const { body, headers } = signedDelivery(balanceChanged());
        return { method: "POST", headers: { ...headers, "content-encoding": "gzip" }, rawBody: body };
      },
    ],
    ["a body over the limit", 413, "too-large", () => post(signedDelivery(`"${"x".repeat(2000)}"`))],
  ];

  // G5, G15, G19
  it.each(rejections)(
    "responds to %s with %i, and reports %s to onOutcome only",
    async (_name, status, reason, request) => {
      const { receive, outcomes } = createTestReceiver({ maxBodyBytes: 1000, handler: () => {} });
      const response = await receive(request());
      expect(response.status).toBe(status);
      expect(Object.keys(response)).toEqual(["status", "headers"]);
      expect(outcomes).toMatchObject([{ outcome: "rejected", status, reason }]);
    },
  );

  it("names the allowed method in the response to another one", async () => {
    const { receive } = createTestReceiver();
    expect((await receive(post(signedDelivery(balanceChanged()), { method: "PUT" }))).headers).toEqual({
      allow: "POST",
    });
  });

  it("responds 408 when the body does not arrive in time", async () => {
    const { receive, outcomes } = createTestReceiver({ timeoutMs: 50 });
    const { headers } = signedDelivery(balanceChanged());
    const response = await receive({ method: "POST", headers, rawBody: () => new Promise(() => {}) });
    expect([response.status, response.headers]).toEqual([408, { connection: "close" }]);
    expect(outcomes).toMatchObject([{ outcome: "rejected", reason: "timeout" }]);
  });

  it("responds 400 when the connection ends before the body, and logs nothing", async () => {
    const { receive, outcomes, log } = createTestReceiver();
    const rawBody = () => Promise.reject(new RawBodyError("unreadable"));
    const response = await receive(post(signedDelivery(balanceChanged()), { rawBody }));
    expect([response.status, response.headers, log]).toEqual([400, { connection: "close" }, []]);
    expect(outcomes).toMatchObject([{ outcome: "rejected", reason: "unreadable" }]);
  });

  it("accepts nothing when the body arrives after the response, and reports one outcome", async () => {
    const { opened, open } = createGate();
    const loaded = createGate();
    const accepted: string[] = [];
    const { receive, outcomes } = createTestReceiver({
      timeoutMs: 10,
      secret: () => {
        loaded.open();
        return secret;
      },
      handler: ({ id }) => void accepted.push(id),
    });
    const { body, headers } = signedDelivery(balanceChanged());
    const rawBody = async () => {
      await opened;
      return body;
    };
    expect((await receive({ method: "POST", headers, rawBody })).status).toBe(408);
    open();
    await loaded.opened;
    await new Promise(setImmediate); // the remaining promises are already settled
    expect([accepted, outcomes.map(({ outcome }) => outcome)]).toEqual([[], ["rejected"]]);
  });

  it("does not read the body when a header is invalid", async () => {
    const { receive, outcomes } = createTestReceiver();
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

it.each(["", "identity", " Identity "])("accepts the content encoding %j", async (encoding) => {
  const { receive } = createTestReceiver();
  const { body, headers } = signedDelivery(balanceChanged());
  expect(
    (await receive({ method: "POST", headers: { ...headers, "content-encoding": encoding }, rawBody: body }))
      .status,
  ).toBe(204);
});

it.each([["identity", "gzip"], ["gzip"], ["br, identity"]])(
  "responds 415 to the content encodings %j",
  async (...encodings) => {
    const { receive } = createTestReceiver();
    const { body, headers } = signedDelivery(balanceChanged());
    const request = { method: "POST", headers: { ...headers, "content-encoding": encodings }, rawBody: body };
    expect((await receive(request)).status).toBe(415);
  },
);

it("responds 500 to a parsed body, and logs the fix", async () => {
  const { receive, log, outcomes } = createTestReceiver();
  const { body, headers } = signedDelivery(balanceChanged());
  const response = await receive({ method: "POST", headers, rawBody: JSON.parse(body) });
  expect(response.status).toBe(500);
  expect(log).toEqual([expect.stringMatching(/parsed before the webhook receiver could read it/)]);
  expect(outcomes).toMatchObject([{ outcome: "misconfigured", reason: "already-consumed" }]);
});

describe("a `now` that fails while the receiver runs", () => {
  it.each<[string, () => unknown]>([
    ["an ISO string", () => "2026-01-01T00:00:00.000Z"],
    ["NaN", () => Number.NaN],
    ["nothing", () => undefined],
  ])("responds 500 when it returns %s, accepts nothing, and logs the fix", async (_name, fail) => {
    let clock: () => unknown = Date.now;
    const accepted: unknown[] = [];
    const { receive, log, outcomes } = createTestReceiver({
      now: () => clock() as number,
      handler: (event) => void accepted.push(event),
    });
    // Years old: to a comparison with NaN it is fresh.
    const stale = signedDelivery(balanceChanged(), { timestamp: 1 });
    expect((await receive(post(stale))).status).toBe(401);
    clock = fail;
    for (const delivery of [stale, signedDelivery(balanceChanged())]) {
      expect((await receive(post(delivery))).status).toBe(500);
    }
    expect(log).toEqual([expect.stringMatching(/`now` function .* It must return a number/)]); // one line for both
    expect(outcomes.slice(1)).toMatchObject(
      Array(2).fill({ outcome: "misconfigured", reason: "invalid-clock", status: 500 }),
    );
    clock = Date.now;
    expect((await receive(post(signedDelivery(balanceChanged())))).status).toBe(204);
    expect(accepted).toHaveLength(1);
  });
});

describe("a rejected delivery without onOutcome", () => {
  /** A receiver that logs, with a test clock for the intervals between lines. */
  function createLogging(options: Partial<ReceiverOptions> = {}) {
    const clock = createTestClock();
    const log: string[] = [];
    const receive = createReceiver({
      secret,
      handler: () => {},
      log: (line) => log.push(line),
      testing: { clock },
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
      "with a malformed signature",
      unsigned("sha256=00"),
      401,
      /rejected: malformed-signature; .*t=<unix seconds>,v1=/,
    ],
    [
      "ten minutes old",
      post(signed(nowSeconds - 612)),
      401,
      /rejected: stale; signed 612 s ago by this machine's clock/,
    ],
    [
      "from the future",
      post(signed(nowSeconds + 301)),
      401,
      /rejected: future; signed 301 s ahead of this machine's clock/,
    ],
    [
      "of another secret",
      post(signed(nowSeconds, "whsec_other")),
      401,
      /rejected: mismatch; the signature does not match this secret and body/,
    ],
    ["by GET", post(signed(nowSeconds), { method: "GET" }), 405, /rejected: method-not-allowed; .*POST only/],
    [
      "that is compressed",
      post({ ...signed(nowSeconds), headers: { "content-encoding": "gzip" } }),
      415,
      /rejected: unsupported-encoding; /,
    ],
    [
      "that is too large",
      post(signed(nowSeconds), { rawBody: " ".repeat(2 ** 20 + 1) }),
      413,
      /rejected: too-large; .*maxBodyBytes/,
    ],
  ])(
    "%s is logged with the reason, what to check and the address of the error page",
    async (_name, request, status, line) => {
      const { receive, log } = createLogging({ now });
      expect((await receive(request)).status).toBe(status);
      expect(log).toEqual([expect.stringMatching(line)]);
      expect(log[0]).toMatch(/rejected: ([\w-]+)[; ].* See https:\S+\/errors\/webhook-\1$/);
      expect(log.join()).not.toMatch(/whsec|card_1|evt_1/);
    },
  );

  it("is logged when its body does not arrive in time, and when handler takes too long", async () => {
    const { receive, log } = createLogging({ now, timeoutMs: 20, handler: () => new Promise(() => {}) });
    const never = () => new Promise<never>(() => {});
    expect((await receive(post(signed(nowSeconds), { rawBody: never }))).status).toBe(408);
    expect((await receive(post(signed(nowSeconds)))).status).toBe(503);
    expect(log).toEqual([
      expect.stringMatching(/rejected: timeout; the body did not arrive within timeoutMs/),
      expect.stringMatching(/handler or the inbox took longer than timeoutMs; responded 503/),
    ]);
  });

  it("is logged once a minute for each reason, with the number of suppressed lines", async () => {
    const { receive, log, clock } = createLogging({ now });
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
  });

  it("is reported to onOutcome with the clock skew, and not logged, when there is an onOutcome", async () => {
    const outcomes: ReceiverOutcome[] = [];
    const { receive, log } = createLogging({ now, onOutcome: (outcome) => outcomes.push(outcome) });
    await receive(post(signed(nowSeconds - 612)));
    await receive(post(signed(nowSeconds + 612)));
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

it("logs a misconfiguration once a minute, because anyone can send a well-formed header", async () => {
  const { receive, log } = createTestReceiver({ testing: { clock: { monotonicMs: () => 0 } } });
  const { body } = signedDelivery(balanceChanged());
  const forged = `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}`;
  for (let count = 0; count < 100; count++) {
    const headers = { "service-signature": forged };
    expect((await receive({ method: "POST", headers, rawBody: JSON.parse(body) })).status).toBe(500);
  }
  expect(log).toEqual([expect.stringMatching(/parsed before the webhook receiver could read it/)]);
});
