/** Retries: which failures are retried, the pauses, and the outcome of a failed call. */
import { describe, expect, it } from "vitest";
import { ProblemError } from "../src/index.ts";
import { retryableStatuses } from "../src/retry.ts";
import {
  card,
  catchIssuingError,
  issueScripted,
  json,
  networkError,
  type Script,
  scripted,
  signUp,
} from "./scripted.ts";

const issued = () => json(card, 201);
const odd = { type: "default", headers: new Headers(), body: null, text: async () => "{}" };
const html = (status: number) => new Response("<html>", { status, headers: { "content-type": "text/html" } });

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
    ["201 without a body", () => new Response(null, { status: 201 })],
    ["204", () => new Response(null, { status: 204 })],
    ["an invalid status", () => ({ ...odd, status: 799 }) as unknown as Response],
    [
      "201 with a body that is cut",
      () =>
        new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) }), {
          status: 201,
        }),
    ],
  ];

  it.each(failures)("is retried with the same key and body after %s", async (_name, failure) => {
    const { result, requests } = issueScripted([failure(), failure(), issued()]);
    expect((await result).id).toBe("card_1");
    expect(requests.map(({ headers }) => headers.get("idempotency-key"))).toEqual([
      "order-1",
      "order-1",
      "order-1",
    ]);
    expect(await Promise.all(requests.map((request) => request.json()))).toEqual([signUp, signUp, signUp]);
  });
});

describe("a response that is not retryable", () => {
  const statuses = Array.from({ length: 100 }, (_, index) => 400 + index);

  it.each(statuses.filter((status) => !retryableStatuses.includes(status)))(
    "ends the call after %i",
    async (status) => {
      const { result, requests } = issueScripted([json({}, status), issued()]);
      await expect(result).rejects.toBeInstanceOf(ProblemError);
      expect(requests).toHaveLength(1);
    },
  );

  it.each([301, 302, 303, 307, 308])(
    "ends the call after %i without following the redirect",
    async (status) => {
      const { result, requests } = issueScripted([
        new Response(null, { status, headers: { location: "https://evil.test/" } }),
      ]);
      const error = await catchIssuingError(result);
      expect(error).toMatchObject({ code: "invalid-response", retryable: false, attempts: 1 });
      expect(error.message).toMatch(/baseUrl/);
      expect(requests.map(({ url, redirect }) => [new URL(url).host, redirect])).toEqual([
        ["cards.test", "manual"],
      ]);
    },
  );
});

describe("the number of retries", () => {
  it("is 2 by default, and configurable for the client and for one call", async () => {
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
});

describe("the pause before a retry", () => {
  async function getPausesMs(script: Script[], random: () => number, options = {}) {
    const { client, events } = scripted(script, {
      testing: { random },
      maxRetries: 6,
      deadlineMs: 100_000,
      ...options,
    });
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
    ["0", 0],
    ["Sun, 01 Mar 2026 12:00:03 GMT", 3000],
    ["Sun, 01 Mar 2026 11:00:00 GMT", 0],
    ["Sunday, 01-Mar-26 12:00:03 GMT", 3000],
    ["Sun Mar  1 12:00:03 2026", 3000],
  ])("follows Retry-After: %s", async (value, ms) => {
    expect(await getPausesMs([json({}, 503, { "retry-after": value }), json(card)], () => 1)).toEqual([ms]);
  });

  it.each(["soon", "-1", "1.5", "1e3", "", "2026-03-01T12:00:03Z", "Sun, 01 Foo 2026 12:00:03 GMT", "1, 2"])(
    "is random when Retry-After is malformed: %j",
    async (value) => {
      expect(await getPausesMs([json({}, 503, { "retry-after": value }), json(card)], () => 1)).toEqual([
        300,
      ]);
    },
  );

  it.each([
    ["3600", 3_600_000],
    ["86400", 86_400_000],
    ["86401", 86_400_000],
    ["999999999999", 86_400_000],
    ["Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000],
  ])(
    "is skipped when Retry-After is %s and passes the deadline: the call fails, with a retryAfterMs of at most 24 hours",
    async (value, retryAfterMs) => {
      const { client } = scripted([json({}, 503, { "retry-after": value })]);
      expect(await catchIssuingError(client.getCard("card_1"))).toMatchObject({ attempts: 1, retryAfterMs });
    },
  );

  it("is skipped when it would pass the deadline: the call fails immediately with retryAfterMs", async () => {
    const { client, requests, clock } = scripted([json({}, 503, { "retry-after": "3600" })]);
    const before = clock.now();
    const error = await catchIssuingError(client.getCard("card_1"));
    expect(error).toMatchObject({ code: "server", retryAfterMs: 3_600_000, retryable: true, attempts: 1 });
    expect([clock.now() - before, requests.length]).toEqual([0, 1]);
  });

  it("is skipped when it would end exactly at the deadline", async () => {
    const { client, events } = scripted([json({}, 503, { "retry-after": "2" })], { deadlineMs: 2000 });
    expect(await catchIssuingError(client.getCard("card_1"))).toMatchObject({ code: "server", attempts: 1 });
    expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
  });
});

describe("the outcome of a call", () => {
  const cases: [string, Script[], string, string][] = [
    ["three refused connections", Array(3).fill(networkError("ECONNREFUSED")), "network", "not-sent"],
    [
      "three failed look-ups of the host name",
      Array(3).fill(networkError("ENOTFOUND")),
      "network",
      "not-sent",
    ],
    [
      "three TLS errors, which can occur after the request was sent",
      Array(3).fill(networkError("ERR_SSL_BAD_RECORD_MAC")),
      "network",
      "unknown",
    ],
    [
      "a TLS handshake with a port that speaks http, in Bun",
      [Object.assign(new Error("EPROTO: The TLS handshake failed."), { code: "EPROTO" })],
      "configuration",
      "not-sent",
    ],
    [
      "a TLS handshake with a port that speaks http, in Deno",
      [
        new TypeError("fetch failed", {
          cause: new Error("client error (Connect): received corrupt message of type InvalidContentType"),
        }),
      ],
      "configuration",
      "not-sent",
    ],
    [
      "TLS handshakes that the service refuses with an alert",
      Array(3).fill(networkError("ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL")),
      "network",
      "not-sent",
    ],
    [
      "alerts that also end an established connection",
      Array(3).fill(networkError("ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR")),
      "network",
      "unknown",
    ],
    [
      "a host that becomes unreachable while the response is read",
      Array(3).fill(
        Object.assign(networkError("EHOSTUNREACH"), { cause: { code: "EHOSTUNREACH", syscall: "read" } }),
      ),
      "network",
      "unknown",
    ],
    ["a reset, then a proxy's 400", [networkError("ECONNRESET"), html(400)], "rejected", "unknown"],
    [
      "the message of Deno for a refused connection",
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
    ["500 three times", [json({}, 500), json({}, 500), json({}, 500)], "server", "unknown"],
    ["429 three times", [json({}, 429), json({}, 429), json({}, 429)], "rate-limited", "rejected"],
    ["201 with HTML three times", [html(201), html(201), html(201)], "invalid-response", "unknown"],
    ["201 without a card", [json({ ok: true }, 201)], "invalid-response", "unknown"],
    ["201 with null", [json(null, 201)], "invalid-response", "unknown"],
    ["201 with an id that is a number", [json({ id: 7 }, 201)], "invalid-response", "unknown"],
  ];

  it.each(cases)("is reported with the error code after %s", async (_name, script, code, outcome) => {
    const error = await catchIssuingError(issueScripted(script).result);
    expect(error).toMatchObject({ code, outcome, attempts: script.length, idempotencyKey: "order-1" });
  });

  it('is "rejected" after 429, then refused connections', async () => {
    const { result } = issueScripted([
      json({}, 429),
      networkError("ECONNREFUSED"),
      networkError("ECONNREFUSED"),
    ]);
    expect((await catchIssuingError(result)).outcome).toBe("rejected");
  });
});

describe("the size of a response", () => {
  // G14
  it.each([
    [200, "invalid-response", false, 1],
    [404, "not-found", false, 1],
    [429, "rate-limited", true, 3],
    [500, "server", true, 3],
  ])("is limited when an endless body has the status %i", async (status, code, retryable, attempts) => {
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
    expect(await catchIssuingError(client.getCard("card_1"))).toMatchObject({ code, retryable, attempts });
    expect(cancelled).toBe(attempts);
    expect(sent).toBeLessThan(attempts * 5 * 1024 * 1024);
  });
});
