/**
 * Deliveries: each attempt is signed, retried by the schedule of spec 3.2, and logged; endpoints
 * are subscribed, changed and deleted (spec 6.3). In process, and over HTTP to real receivers.
 */

import { noon, openMockShop } from "@loyalty-cards/testing/mock-shop";
import { createGate } from "@loyalty-cards/testing/resources";
import { WebhookVerificationError } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { describe, expect, it } from "vitest";
import {
  createMockService,
  type MockService,
  type MockServiceOptions,
  manualClock,
} from "../src/index.ts";
import { listen } from "./integration/command.ts";
import { deferResponse, respondWith, sendPing, shopWithEndpoint } from "./shop.ts";

const minute = 60_000;
const hour = 60 * minute;

const attemptTimesMs = (service: MockService) =>
  service.webhooks
    .deliveries()
    .flatMap(({ attempts }) => attempts.map(({ at }) => Date.parse(at) - noon));

describe("a delivery", () => {
  it("is a signed POST with the headers and the body of spec 6.1", async () => {
    const { inbox, purchase } = await shopWithEndpoint();
    await purchase();
    const [request] = inbox.requests;
    expect([request?.method, request?.url, request?.redirect]).toEqual([
      "POST",
      "https://shop.test/webhooks",
      "manual",
    ]);
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      "content-type": "application/json",
      "service-event": "balance.changed",
      "service-delivery": expect.stringMatching(/^dlv_/),
      "service-signature": expect.stringMatching(/^t=\d{10},v1=[0-9a-f]{64}$/),
    });
    expect(await request?.json()).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: "balance.changed",
      createdAt: "2026-03-01T12:00:00.000Z",
      data: expect.objectContaining({ balance: 1, change: 1 }),
    });
  });

  it("starts after the response of the request that caused it, and goes to endpoints that subscribe to its event", async () => {
    const { service, inbox, issue } = await shopWithEndpoint();
    const { body } = await issue();
    service.cards.addToWallet(body.id, "apple");
    service.cards.purchase(body.id, { points: 1 });
    expect(inbox.requests).toHaveLength(0);
    await service.idle();
    expect(inbox.requests.map(({ headers }) => headers.get("service-event"))).toEqual([
      "balance.changed",
    ]);
  });
});

describe("the retry schedule", () => {
  // G23
  it("retries after 1 min, 5 min, 30 min, 2 h and 6 h, each after the previous failure and signed with another t, and then fails", async () => {
    const { service, inbox, purchase } = await shopWithEndpoint(Array(6).fill(500));
    await purchase();
    const attempts = await service.clock.runUntilIdle();
    const expected = [0, 1, 6, 36, 156, 516].map((minutes) => minutes * minute);
    expect(attemptTimesMs(service)).toEqual(expected);
    expect(attempts.map(({ at }) => Date.parse(at) - noon)).toEqual(expected.slice(1));
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "failed" }]);
    expect(service.clock.now() - noon).toBe(516 * minute);

    const headers = (name: string) => inbox.requests.map((request) => request.headers.get(name));
    expect(new Set(await Promise.all(inbox.requests.map((request) => request.text()))).size).toBe(
      1,
    );
    expect(new Set(headers("service-delivery")).size).toBe(1);
    expect(
      headers("service-signature").map((value) => Number(/t=(\d+)/.exec(value ?? "")?.[1])),
    ).toEqual(expected.map((ms) => (noon + ms) / 1000));
  });

  it("says when the next attempt is, and ends with the first 2xx", async () => {
    const { service, inbox, purchase } = await shopWithEndpoint([500, 404, 301]);
    await purchase();
    for (const next of ["2026-03-01T12:01:00.000Z", "2026-03-01T12:06:00.000Z"]) {
      expect(service.webhooks.deliveries()).toMatchObject([
        { state: "pending", nextAttemptAt: next },
      ]);
      expect(await service.clock.advanceToNextDelivery()).toHaveLength(1);
      expect(service.clock.now()).toBe(Date.parse(next));
    }
    await service.clock.runUntilIdle();
    const [delivery] = service.webhooks.deliveries();
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 404, 301, 204]);
    expect(delivery?.state).toBe("delivered");
    expect(delivery).not.toHaveProperty("nextAttemptAt");
    const nowMs = service.clock.now();
    expect([
      await service.clock.runUntilIdle(),
      await service.clock.advanceToNextDelivery(),
    ]).toEqual([[], []]);
    expect([service.clock.now(), inbox.requests.length, inbox.events.length]).toEqual([
      nowMs,
      4,
      1,
    ]);
  });
});

describe("advance()", () => {
  it("makes the attempts that become due in order, and stops exactly at the end", async () => {
    const { service, purchase } = await shopWithEndpoint(Array(6).fill(500));
    await purchase();
    expect(await service.clock.advance("59s")).toEqual([]);
    expect((await service.clock.advance("1s")).map(({ status }) => status)).toEqual([500]);
    const attempts = await service.clock.advance("6h");
    expect(attempts.map(({ at }) => (Date.parse(at) - noon) / minute)).toEqual([6, 36, 156]);
    expect(service.clock.now() - noon).toBe(6 * hour + minute);
  });

  it("makes also the attempts that the receiver causes", async () => {
    const service: MockService = openMockShop({
      deliver: () => {
        if (service.webhooks.deliveries().length === 1) service.webhooks.sendTest(endpoint.id);
        return new Response(null, { status: 204 });
      },
    }).service;
    const endpoint = service.webhooks.createEndpoint({
      url: "https://shop.test/",
      events: ["ping"],
    });
    service.webhooks.sendTest(endpoint.id);
    await service.idle();
    expect(service.webhooks.deliveries().map(({ state }) => state)).toEqual([
      "delivered",
      "delivered",
    ]);
  });

  it("runs calls that are not awaited one after the other", async () => {
    const { service } = await shopWithEndpoint();
    await Promise.all(["1h", "1h", "1h"].map((span) => service.clock.advance(span as "1h")));
    expect(service.clock.now() - noon).toBe(3 * hour);
  });

  it("returns also the attempts that were in progress when it began", async () => {
    const { service, endpoint } = await shopWithEndpoint([500]);
    service.webhooks.sendTest(endpoint.id);
    expect((await service.clock.runUntilIdle()).map(({ status }) => status)).toEqual([500, 204]);
  });

  it("rejects on the system clock, and says what to do", async () => {
    await expect(createMockService().clock.advance("1h")).rejects.toThrow("clock: manualClock()");
  });

  it.each(["1 h", "h", "-1h", "1w", "999999999d", -1, 1e300, Number.NaN])(
    "rejects the duration %s",
    async (span) => {
      const { service } = await shopWithEndpoint();
      await expect((async () => service.clock.advance(span as "1h"))()).rejects.toThrow(
        /is not a duration/,
      );
    },
  );
});

describe("the console's buttons", () => {
  it('"Send test" delivers a ping, whatever the subscription', async () => {
    const { service, inbox, endpoint } = await shopWithEndpoint();
    const { id } = service.webhooks.sendTest(endpoint.id);
    await service.idle();
    expect(inbox.events).toMatchObject([{ type: "ping" }]);
    expect(service.webhooks.deliveries({ type: "ping" })).toMatchObject([
      { id, state: "delivered" },
    ]);
  });

  it('"New secret" replaces the old one immediately', async () => {
    const { service, inbox, endpoint, purchase } = await shopWithEndpoint();
    const renewed = service.webhooks.newSecret(endpoint.id);
    expect(renewed).toEqual({
      ...endpoint,
      secret: expect.not.stringContaining(endpoint.secret),
      secretReplacedAt: new Date(service.clock.now()).toISOString(),
    });
    await purchase();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "pending", attempts: [{ error: new WebhookVerificationError("mismatch").message }] },
    ]);
    inbox.useSecret(renewed.secret);
    await service.clock.advance("1m");
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
  });

  it('"Resend" sends the same event as the same delivery, with a new retry schedule', async () => {
    const { service, inbox, purchase } = await shopWithEndpoint(Array(7).fill(500));
    await purchase();
    await service.clock.runUntilIdle();
    const [failed] = service.webhooks.deliveries({ state: "failed" });
    service.webhooks.resend(failed?.id ?? "");
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries()).toMatchObject([{ id: failed?.id, state: "delivered" }]);
    expect(inbox.requests).toHaveLength(8);
    expect(inbox.events[0]?.id).toBe(failed?.eventId);
  });

  it("filters the delivery log", async () => {
    const { service, endpoint, purchase } = await shopWithEndpoint([500]);
    await purchase();
    service.webhooks.sendTest(endpoint.id);
    await service.idle();
    expect(service.webhooks.deliveries({ state: "pending" }).map(({ type }) => type)).toEqual([
      "balance.changed",
    ]);
    expect(service.webhooks.deliveries({ endpointId: "we_none" })).toEqual([]);
  });
});

describe("an attempt", () => {
  it("is evaluated by its status, also when the receiver has read its response", async () => {
    const response = new Response("ok");
    await response.text();
    const { service } = openMockShop({ deliver: () => response });
    sendPing(service);
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ attempts: [{ status: 200 }] }]);
  });

  it.each([
    [0, undefined],
    [999, 999],
    [1_000, 1_000],
    [1_001, 1_000],
    [Number.POSITIVE_INFINITY, 1_000],
  ])(
    "stores at most the first 1,000 characters of its response: of %d it stores %s",
    async (length, stored) => {
      let sent = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const part = Math.min(length - sent, 300);
          sent += part;
          if (part === 0) controller.close();
          else controller.enqueue(new Uint8Array(part).fill(97));
        },
      });
      const { service } = openMockShop({ deliver: () => new Response(body) });
      sendPing(service);
      await service.idle();
      const [attempt] = service.webhooks.deliveries()[0]?.attempts ?? [];
      expect([attempt?.status, attempt?.responseBody]).toEqual([200, stored && "a".repeat(stored)]);
    },
  );

  it("is followed by another one when the delivery is resent meanwhile", async () => {
    const { response, respond } = deferResponse();
    const { service, inbox, purchase } = await shopWithEndpoint([response]);
    const purchased = purchase();
    await Promise.resolve();
    service.webhooks.resend(service.webhooks.deliveries()[0]?.id ?? "");
    respond(204);
    await purchased;
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "delivered", attempts: [{ status: 204 }, { status: 204 }] },
    ]);
    expect(inbox.requests).toHaveLength(2);
  });
});

it("makes 4000 attempts of 2000 pending deliveries within the time limit", {
  timeout: 20_000,
}, async () => {
  const { service } = openMockShop({ deliver: respondWith(500) });
  const { id } = sendPing(service);
  for (let sent = 1; sent < 2000; sent++) service.webhooks.sendTest(id);
  expect(await service.clock.advance("1m")).toHaveLength(4000);
});

it.each(["at once", "while it is signed", "while the receiver hangs"])(
  "ends an attempt on a reset %s, and applies no fault of the next test to it",
  async (when) => {
    const { response, respond } = deferResponse();
    const requests: Request[] = [];
    const deliver = (request: Request) => {
      requests.push(request);
      return response;
    };
    const { service } = openMockShop({ deliver, deliveryTimeoutMs: 2 ** 31 - 1 });
    sendPing(service);
    const advanced = service.clock.advance("1m");
    if (when === "while it is signed") await undefined;
    if (when === "while the receiver hangs") await expect.poll(() => requests).toHaveLength(1);
    service.reset();
    service.faults.add({ kind: "fail", times: 1 });
    expect(await advanced).toEqual([]);
    respond(204);
    expect(await service.clock.advance("1m")).toEqual([]);
    expect(requests.filter(({ signal }) => !signal.aborted)).toEqual([]);
    expect([service.webhooks.deliveries(), service.faults.list()]).toMatchObject([[], [{}]]);
  },
);

describe("an endpoint", () => {
  it("needs at least one event, and only known ones", () => {
    const { service } = openMockShop();
    const create = (events: string[]) =>
      service.webhooks.createEndpoint({ url: "https://shop.test/", events: events as never });
    expect(() => create([])).toThrow('"events" must NOT have fewer than 1 items');
    expect(() => create(["balance.change"])).toThrow(/"events\.0" must be one of card\.added, /);
  });

  async function shopWithFailedDelivery() {
    const shop = await shopWithEndpoint([500]);
    await shop.purchase();
    return shop;
  }

  it("gets pending deliveries at its new address, signed with the same secret", async () => {
    const { service, inbox, endpoint } = await shopWithFailedDelivery();
    const changed = service.webhooks.updateEndpoint(endpoint.id, {
      url: "https://shop.test/moved",
    });
    expect(changed).toEqual({ ...endpoint, url: "https://shop.test/moved" });
    await service.clock.advance("1m");
    const paths = inbox.requests.map(({ url }) => new URL(url).pathname);
    expect(paths).toEqual(["/webhooks", "/moved"]);
    expect(inbox.events).toHaveLength(1);
  });

  it("gets its new events, and no longer the old ones", async () => {
    const { service, inbox, endpoint, purchase, issue } = await shopWithEndpoint();
    service.webhooks.updateEndpoint(endpoint.id, { events: ["card.added"] });
    await purchase();
    const { body } = await issue();
    service.cards.addToWallet(body.id, "apple");
    await service.idle();
    expect(inbox.events.map(({ type }) => type)).toEqual(["card.added"]);
  });

  it("is not changed by an invalid address or event", async () => {
    const { service, endpoint } = await shopWithEndpoint();
    const before = service.snapshot();
    const change = (to: object) => () => service.webhooks.updateEndpoint(endpoint.id, to);
    expect(change({ url: "http://shop.test/", events: ["ping"] })).toThrow(/https/);
    expect(change({ url: "https://shop.test/new", events: ["pong"] })).toThrow(
      /"events\.0" must be one of card\.added/,
    );
    expect(change({ events: [] })).toThrow(/"events" must NOT have fewer than 1 items/);
    expect(service.snapshot()).toEqual(before);
    expect(() => service.webhooks.updateEndpoint("we_none", {})).toThrow(
      /no webhook endpoint "we_none"/,
    );
  });

  it("gets nothing after it is deleted: its pending deliveries are failed, and are not resent", async () => {
    const { service, inbox, endpoint, purchase } = await shopWithFailedDelivery();
    const { deleteEndpoint, deliveries, newSecret, resend, sendTest } = service.webhooks;
    deleteEndpoint(endpoint.id);
    expect(deliveries()).toMatchObject([{ state: "failed", attempts: [{ status: 500 }] }]);
    expect(deliveries()[0]).not.toHaveProperty("nextAttemptAt");
    expect(() => resend(deliveries()[0]?.id ?? "")).toThrow(
      "The endpoint of this delivery was deleted.",
    );
    for (const act of [deleteEndpoint, sendTest, newSecret])
      expect(() => act(endpoint.id)).toThrow(/no webhook endpoint/);
    expect(() => resend("dlv_1")).toThrow(/no delivery/);
    expect(service.clock.nextAttemptAt()).toBeUndefined();
    await purchase();
    expect(await service.clock.runUntilIdle()).toEqual([]);
    expect(inbox.requests).toHaveLength(1);
  });

  it.each([
    [204, "delivered"],
    [500, "failed"],
  ])(
    "gets no attempt after the one in progress when it is deleted; a %i leaves the delivery %s",
    async (status, state) => {
      const { response, respond } = deferResponse();
      const { service, endpoint, inbox, issue } = await shopWithEndpoint([response]);
      const { body } = await issue();
      service.cards.purchase(body.id, { points: 1 });
      while (inbox.requests.length === 0) await new Promise(setImmediate); // the attempt has half a second
      const [sent] = service.webhooks.deliveries();
      service.webhooks.resend(sent?.id ?? "");
      service.webhooks.deleteEndpoint(endpoint.id);
      respond(status);
      await service.idle();
      expect(await service.clock.runUntilIdle()).toEqual([]);
      const [delivery] = service.webhooks.deliveries();
      expect(delivery).toMatchObject({ state, attempts: [{ status }] });
      expect(delivery).not.toHaveProperty("nextAttemptAt");
      expect(inbox.requests).toHaveLength(1);
    },
  );
});

function sendTestTo(url: string, options: MockServiceOptions = {}) {
  const service = createMockService({ clock: manualClock(), ...options });
  return { service, ...sendPing(service, url), log: () => service.webhooks.deliveries()[0] };
}

describe("over HTTP", () => {
  it("delivers what a real receiver verifies, also after the clock moved by hours", async () => {
    const seen: string[] = [];
    let secret = "";
    let failures = 3;
    const receive = nodeReceiver({
      secret: () => secret,
      handler: (event) => {
        if (failures-- > 0) throw new Error("not yet");
        seen.push(event.type);
      },
    });
    const shop = sendTestTo(await listen(receive));
    secret = shop.secret;
    await shop.service.clock.advance("3h");
    const attempts = shop.log()?.attempts ?? [];
    expect(attempts.map(({ status }) => status)).toEqual([503, 503, 503, 204]);
    // The log says so: the last attempt is half an hour later by the service's clock, and signed
    // with the machine's.
    for (const { signedAt, signedWith } of attempts) {
      expect([signedWith, Math.abs(Date.parse(signedAt) - Date.now()) < 300_000]).toEqual([
        "machine",
        true,
      ]);
    }
    const [first, last] = [attempts[0]?.at ?? "", attempts.at(-1)?.at ?? ""];
    expect(Date.parse(last) - Date.parse(first)).toBe(36 * minute);
    expect(seen).toEqual(["ping"]);
  });

  it("fails on a redirect, which it does not follow, and on a refused or broken connection", async () => {
    const paths: (string | undefined)[] = [];
    const redirected = sendTestTo(
      await listen((request, response) => {
        paths.push(request.url);
        response.writeHead(307, { location: "/elsewhere" }).end();
      }),
    );
    const refused = sendTestTo("http://127.0.0.1:9/");
    const broken = sendTestTo(await listen((request) => request.socket.destroy()));
    for (const { service } of [redirected, refused, broken]) await service.idle();
    expect([redirected.log()?.attempts[0]?.status, paths]).toEqual([307, ["/webhooks"]]);
    const error = expect.stringMatching(/ECONNREFUSED|bad port/);
    expect(refused.log()).toMatchObject({ state: "pending", attempts: [{ error }] });
    expect(broken.log()).toMatchObject({
      state: "pending",
      attempts: [{ error: "UND_ERR_SOCKET" }],
    });
  });

  it("fails on a timeout, and aborts the request", async () => {
    const { opened: gone, open: closed } = createGate();
    const url = await listen((request) => void request.socket.once("close", closed));
    const { service, log } = sendTestTo(url, { deliveryTimeoutMs: 300 });
    await service.idle();
    await gone;
    expect(log()).toMatchObject({
      state: "pending",
      attempts: [{ error: "no response within 0.3 s" }],
    });
  });

  it("makes the first attempt at once on the machine's clock", async () => {
    const service = createMockService();
    sendPing(service, await listen((_request, response) => response.writeHead(204).end()));
    expect(await service.waitFor({ delivery: { state: "delivered" } })).toHaveLength(1);
  });
});
