/**
 * Retries: the policy, which failures are retried, the pauses, the outcome of a failed call, and
 * the system clock.
 */

import {
  card,
  catchIssuingError,
  issueScripted,
  json,
  networkError,
  type Script,
  scripted,
  signUp,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sleep, systemClock, waitWithin } from "../src/clock.ts";
import { parseRetryAfter } from "../src/response.ts";
import {
  getJitteredDelayMs,
  isIdempotent,
  isRetryableStatus,
  retryableStatuses,
} from "../src/retry.ts";

const issued = () => json(card, 201);
const cutBody = () =>
  new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) });
const odd = { type: "default", headers: new Headers(), body: null, text: async () => "{}" };
const empty = (status: number) => new Response(null, { status });
const html = (status: number) =>
  new Response("<html>", { status, headers: { "content-type": "text/html" } });

describe("a failed attempt", () => {
  const failures: [string, () => Script][] = [
    ...[...retryableStatuses, 500, 502, 503, 504, 599].map((status): [string, () => Script] => [
      `${status}`,
      () => json({}, status),
    ]),
    ["an HTML error page", () => html(502)],
    ["a reset connection", () => networkError("ECONNRESET")],
    ["a refused connection", () => networkError("ECONNREFUSED")],
    ["201 with HTML", () => html(201)],
    ["201 with half a body", () => new Response('{"id":"card_', { status: 201 })],
    ["201 without a body", () => empty(201)],
    ["204", () => empty(204)],
    ["an invalid status", () => ({ ...odd, status: 799 }) as unknown as Response],
    ["201 with a body that is cut", () => new Response(cutBody(), { status: 201 })],
  ];

  it.each(failures)("is retried with the same key and body after %s", async (_name, failure) => {
    const { result, requests } = issueScripted([failure(), failure(), issued()]);
    expect((await result).id).toBe("card_1");
    const keys = requests.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toEqual(["order-1", "order-1", "order-1"]);
    expect(await Promise.all(requests.map((request) => request.json()))).toEqual([
      signUp,
      signUp,
      signUp,
    ]);
  });
});

it("retries twice by default, and as often as the client or the call says", async () => {
  const down = () => Array.from({ length: 9 }, () => json({}, 503));
  const { client, requests } = scripted(down());
  await catchIssuingError(client.getCard("card_1"));
  expect(requests).toHaveLength(3);
  await catchIssuingError(client.getCard("card_1", { maxRetries: 0 }));
  expect(requests).toHaveLength(4);
  const patient = scripted(down(), { maxRetries: 4 });
  await catchIssuingError(patient.client.getCard("card_1"));
  expect(patient.requests).toHaveLength(5);
});

describe("the pause before a retry", () => {
  async function getPausesMs(script: Script[], random: () => number) {
    const options = { testing: { random }, maxRetries: 6, deadlineMs: 100_000 };
    const { client, events } = scripted(script, options);
    await client.getCard("card_1").catch(() => {});
    return events.flatMap((event) => (event.type === "retry" ? event.delayMs : []));
  }
  const down = () => Array.from({ length: 7 }, () => json({}, 503));

  it("is random, between 0 and a maximum that doubles up to 5 s", async () => {
    expect(await getPausesMs(down(), () => 1)).toEqual([300, 600, 1200, 2400, 4800, 5000]);
    expect(await getPausesMs(down(), () => 0.5)).toEqual([150, 300, 600, 1200, 2400, 2500]);
    expect(await getPausesMs(down(), () => 0)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it.each([
    ["2", 2000],
    ["0", 300],
    ["Sun, 01 Mar 2026 12:00:03 GMT", 3000],
    ["Sun, 01 Mar 2026 11:00:00 GMT", 300],
    ["soon", 300],
  ])("is longer when Retry-After is, and no shorter when it is not: %j", async (value, ms) => {
    expect(
      await getPausesMs([json({}, 503, { "retry-after": value }), json(card)], () => 1),
    ).toEqual([ms]);
  });

  it.each([
    ["3600", 3_600_000],
    ["86400", 86_400_000],
    ["86401", 86_400_000],
    ["999999999999", 86_400_000],
    ["Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000],
    ["30", 30_000], // exactly at the deadline
  ])("does not begin when Retry-After %s passes the deadline", async (value, retryAfterMs) => {
    const { client, requests, clock, events } = scripted([json({}, 503, { "retry-after": value })]);
    const error = await catchIssuingError(client.getCard("card_1"));
    expect(error).toMatchObject({ code: "server", retryAfterMs, retryable: true, attempts: 1 });
    expect([clock.monotonicMs(), requests.length]).toEqual([0, 1]);
    expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
  });
});

describe("the outcome of a call", () => {
  const times = <Each>(count: number, each: Each) => Array<Each>(count).fill(each);
  const codes = (code: string, count = 3) => times(count, networkError(code));
  const cut = Object.assign(networkError("EHOSTUNREACH"), {
    cause: { code: "EHOSTUNREACH", syscall: "read" },
  });
  const noPort = Object.assign(new Error("connect"), { code: "EADDRNOTAVAIL", syscall: "connect" });
  const noAddress = Object.assign(new AggregateError([{ code: "ETIMEDOUT", syscall: "connect" }]), {
    code: "ETIMEDOUT",
  });
  const refused = new Error("Proxy response (407) !== 200 when HTTP Tunneling");
  const noTunnel = new Error("Request was cancelled.", {
    cause: Object.assign(refused, { code: "UND_ERR_ABORTED" }),
  });
  const notTlsInDeno =
    "client error (Connect): received corrupt message of type InvalidContentType";
  const notTlsInBun = Object.assign(new Error("EPROTO: The TLS handshake failed."), {
    code: "EPROTO",
  });
  const refusedInDeno =
    "error sending request for url (x): client error (Connect): Connection refused";
  const cases: [string, Script[], string, string][] = [
    ["three refused connections", codes("ECONNREFUSED"), "network", "not-sent"],
    ["no free local port", times(3, noPort), "network", "not-sent"],
    ["no response from any address", times(3, noAddress), "network", "not-sent"],
    [
      "no response from any address, with fetch",
      times(3, new TypeError("fetch failed", { cause: noAddress })),
      "network",
      "not-sent",
    ],
    ["three failed look-ups of the host name", codes("ENOTFOUND"), "network", "not-sent"],
    ["a proxy that opens no tunnel", codes("ERR_PROXY_TUNNEL"), "network", "not-sent"],
    [
      "a proxy that opens no tunnel, with the fetch of undici",
      times(3, new TypeError("fetch failed", { cause: noTunnel })),
      "network",
      "not-sent",
    ],
    ["TLS errors, possibly in use", codes("ERR_SSL_BAD_RECORD_MAC"), "network", "unknown"],
    // A proxy can write plaintext into a connection that has received the request.
    ["no TLS, possibly in use", codes("ERR_SSL_WRONG_VERSION_NUMBER"), "network", "unknown"],
    [
      "a long record, possibly in use",
      codes("ERR_SSL_PACKET_LENGTH_TOO_LONG"),
      "network",
      "unknown",
    ],
    ["no TLS, possibly in use, in Bun", times(3, notTlsInBun), "network", "unknown"],
    [
      "a TLS handshake with a port that speaks http, in Deno",
      times(3, new TypeError("fetch failed", { cause: new Error(notTlsInDeno) })),
      "network",
      "not-sent",
    ],
    [
      "refused TLS handshakes",
      codes("ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL"),
      "network",
      "not-sent",
    ],
    [
      "TLS alerts, possibly in use",
      codes("ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR"),
      "network",
      "unknown",
    ],
    [
      "a host that becomes unreachable while the response is read",
      times(3, cut),
      "network",
      "unknown",
    ],
    ["a refused connection in Deno", times(3, new TypeError(refusedInDeno)), "network", "not-sent"],
    [
      "a certificate that is not trusted",
      codes("DEPTH_ZERO_SELF_SIGNED_CERT"),
      "network",
      "not-sent",
    ],
    ["a reset connection", codes("ECONNRESET"), "network", "unknown"],
    ["an error without a code", times(3, new TypeError("fetch failed")), "network", "unknown"],
    [
      "a reset, then refused",
      [...codes("ECONNRESET", 1), ...codes("ECONNREFUSED", 2)],
      "network",
      "unknown",
    ],
    ["a 429, then refused", [json({}, 429), ...codes("ECONNREFUSED", 2)], "network", "rejected"],
    ["refused, then 404", [...codes("ECONNREFUSED", 1), json({}, 404)], "not-found", "rejected"],
    ["a reset, then a proxy's 400", [...codes("ECONNRESET", 1), html(400)], "rejected", "unknown"],
    ["a reset, then 422", [...codes("ECONNRESET", 1), json({}, 422)], "validation", "rejected"],
    ["201 with HTML three times", times(3, () => html(201)), "invalid-response", "unknown"],
    ["201 without a body three times", times(3, () => empty(201)), "invalid-response", "unknown"],
    ["204 three times", times(3, () => empty(204)), "invalid-response", "unknown"],
    ["a redirect", [empty(307)], "invalid-response", "unknown"],
    ["201 without a card", [json({ ok: true }, 201)], "invalid-response", "unknown"],
    ["201 with null", [json(null, 201)], "invalid-response", "unknown"],
    ["201 with an id that is a number", [json({ id: 7 }, 201)], "invalid-response", "unknown"],
  ];

  it.each(cases)(
    "is reported with the error code after %s",
    async (_name, script, code, outcome) => {
      const error = await catchIssuingError(issueScripted(script).result);
      expect(error).toMatchObject({
        code,
        outcome,
        attempts: script.length,
        idempotencyKey: "order-1",
      });
    },
  );
});

it.each([
  ["GET", true],
  ["HEAD", true],
  ["PUT", true],
  ["POST", false],
  ["PATCH", false],
])("treats %s as idempotent without an idempotency key: %s", (method, withoutKey) => {
  expect([isIdempotent(method, undefined), isIdempotent(method, "k")]).toEqual([withoutKey, true]);
});

it("retries 408, 425, 429 and every 5xx, and no other status of an error", () => {
  const statuses = Array.from({ length: 200 }, (_, index) => 400 + index);
  const retryable = statuses.filter(isRetryableStatus);
  expect(retryable).toEqual([408, 425, 429, ...statuses.slice(100)]);
});

it("rounds a pause to whole milliseconds", () => {
  expect(getJitteredDelayMs(1, () => 1 / 7)).toBe(43);
});

const nowMs = Date.parse("2026-03-01T12:00:00.000Z");

it("reads the three formats of a Retry-After date as GMT in any local time zone", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const name of ["Asia/Kolkata", "America/St_Johns", "UTC"]) {
    vi.stubEnv("TZ", name);
    for (const date of [
      "Sun, 01 Mar 2026 12:00:03 GMT",
      "Sunday, 01-Mar-26 12:00:03 GMT",
      "Sun Mar  1 12:00:03 2026",
    ])
      expect(parseRetryAfter(date, nowMs)).toBe(3000);
  }
});

it.each<[string | null, number | undefined]>([
  [null, undefined],
  [" 7\t", 7000],
  ...[
    "",
    "soon",
    "-1",
    "1.5",
    "1e3",
    "1, 2",
    "x7",
    "7x",
    "7 s",
    "1234567890123",
    "x Sun, 01 Mar 2026 12:00:03 GMT",
    "Sun, 01 Mar 2026 12:00:03 GMT x",
    "x Sunday, 01-Mar-26 12:00:03 GMT",
    "Sunday, 01-Mar-26 12:00:03 GMT x",
    "x Sun Mar  1 12:00:03 2026",
    "Sun Mar  1 12:00:03 2026 x",
    "Sun, 32 Mar 2026 12:00:03 GMT",
    "Sun, 01 Foo 2026 12:00:03 GMT",
    "2026-03-01T12:00:03Z",
  ].map((malformed): [string, undefined] => [malformed, undefined]),
  ["Sun, 01 Mar 2026 11:59:00 GMT", 0],
])("reads the Retry-After value %j", (value, expected) => {
  expect(parseRetryAfter(value, nowMs)).toBe(expected);
});

it.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
  "does not end a pause of %s ms immediately",
  async (ms) => {
    const controller = new AbortController();
    const end = sleep(ms, { clock: systemClock, signal: controller.signal }).then(
      () => "over",
      () => "aborted",
    );
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error("enough"));
    expect(await end).toBe("aborted");
  },
);

it("ends a short pause, and a wait at its time limit", async () => {
  const limits = { clock: systemClock, signal: undefined };
  await sleep(1, limits);
  const never = new Promise<string>(() => {});
  expect(await waitWithin(never, { ms: 1, otherwise: () => "late", ...limits })).toBe("late");
});
