/** Deliveries: each attempt is signed, retried by the schedule of spec 3.2, and logged. */
import { WebhookVerificationError } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { createMockService, type MockService } from "../src/index.ts";
import { noon, openShop, shopWithEndpoint } from "./shop.ts";

const minute = 60_000;
const hour = 60 * minute;

const attemptTimesMs = (service: MockService) =>
  service.webhooks.deliveries().flatMap(({ attempts }) => attempts.map(({ at }) => Date.parse(at) - noon));

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
    expect(inbox.requests.map(({ headers }) => headers.get("service-event"))).toEqual(["balance.changed"]);
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
    expect(new Set(await Promise.all(inbox.requests.map((request) => request.text()))).size).toBe(1);
    expect(new Set(headers("service-delivery")).size).toBe(1);
    expect(headers("service-signature").map((value) => Number(/t=(\d+)/.exec(value ?? "")?.[1]))).toEqual(
      expected.map((ms) => (noon + ms) / 1000),
    );
  });

  it("says when the next attempt is, and ends with the first 2xx", async () => {
    const { service, inbox, purchase } = await shopWithEndpoint([500, 404, 301]);
    await purchase();
    for (const next of ["2026-03-01T12:01:00.000Z", "2026-03-01T12:06:00.000Z"]) {
      expect(service.webhooks.deliveries()).toMatchObject([{ state: "pending", nextAttemptAt: next }]);
      await service.clock.advanceToNextDelivery();
    }
    await service.clock.runUntilIdle();
    const [delivery] = service.webhooks.deliveries();
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 404, 301, 204]);
    expect(delivery?.state).toBe("delivered");
    expect(delivery).not.toHaveProperty("nextAttemptAt");
    expect(await service.clock.runUntilIdle()).toEqual([]);
    expect([inbox.requests.length, inbox.events.length]).toEqual([4, 1]);
  });

  it("counts a timeout and a broken connection as failures", async () => {
    const refused = Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    const { service, purchase } = await shopWithEndpoint([refused, new Promise<Response>(() => {})]);
    await purchase();
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries()).toMatchObject([
      {
        state: "delivered",
        attempts: [{ error: "ECONNREFUSED" }, { error: "no response within 0.5 s" }, { status: 204 }],
      },
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

  it("stops at the next delivery with advanceToNextDelivery()", async () => {
    const { service, purchase } = await shopWithEndpoint([500]);
    await purchase();
    expect(await service.clock.advanceToNextDelivery()).toMatchObject([
      { status: 204, type: "balance.changed" },
    ]);
    expect(service.clock.now() - noon).toBe(minute);
    expect(await service.clock.advanceToNextDelivery()).toEqual([]);
    expect(service.clock.now() - noon).toBe(minute);
  });

  it("makes also the attempts that the receiver causes", async () => {
    const service: MockService = openShop({
      deliver: () => {
        if (service.webhooks.deliveries().length === 1) service.webhooks.sendTest(endpoint.id);
        return new Response(null, { status: 204 });
      },
    }).service;
    const endpoint = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    service.webhooks.sendTest(endpoint.id);
    await service.idle();
    expect(service.webhooks.deliveries().map(({ state }) => state)).toEqual(["delivered", "delivered"]);
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
      await expect((async () => service.clock.advance(span as "1h"))()).rejects.toThrow(/is not a duration/);
    },
  );
});

describe("the console's buttons", () => {
  it('"Send test" delivers a ping, whatever the subscription', async () => {
    const { service, inbox, endpoint } = await shopWithEndpoint();
    const { id } = service.webhooks.sendTest(endpoint.id);
    await service.idle();
    expect(inbox.events).toMatchObject([{ type: "ping" }]);
    expect(service.webhooks.deliveries({ type: "ping" })).toMatchObject([{ id, state: "delivered" }]);
  });

  it('"New secret" replaces the old one immediately', async () => {
    const { service, inbox, endpoint, purchase } = await shopWithEndpoint();
    const renewed = service.webhooks.newSecret(endpoint.id);
    expect(renewed).toEqual({ id: endpoint.id, secret: expect.not.stringContaining(endpoint.secret) });
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
  const oneDelivery = async (deliver: () => unknown) => {
    const { service } = openShop({ deliver: deliver as never, deliveryTimeoutMs: 500 });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    service.webhooks.sendTest(id);
    await service.idle();
    return service.webhooks.deliveries()[0]?.attempts[0];
  };

  it("is evaluated by its status, not by its body", async () => {
    const read = new Response("ok");
    await read.text();
    expect(await oneDelivery(() => read)).toMatchObject({ status: 200 });
    const endless = new ReadableStream({ cancel: () => new Promise(() => {}) });
    expect(await oneDelivery(() => new Response(endless))).toMatchObject({ status: 200 });
  });

  it.each([
    ["throws null", () => Promise.reject(null), "the receiver threw null"],
    [
      "throws an object without prototype",
      () => Promise.reject(Object.create(null)),
      "the receiver threw object",
    ],
    ["returns nothing", () => undefined, /undefined/],
  ])("fails when the receiver %s", async (_name, deliver, error) => {
    expect((await oneDelivery(deliver))?.error).toMatch(error);
  });

  it("is followed by another one when the delivery is resent meanwhile", async () => {
    let respond: (response: Response) => void = () => {};
    const { service, inbox, purchase } = await shopWithEndpoint([
      new Promise((resolve) => (respond = resolve)),
    ]);
    const purchased = purchase();
    await Promise.resolve();
    service.webhooks.resend(service.webhooks.deliveries()[0]?.id ?? "");
    respond(new Response(null, { status: 204 }));
    await purchased;
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "delivered", attempts: [{ status: 204 }, { status: 204 }] },
    ]);
    expect(inbox.requests).toHaveLength(2);
  });
});

it("makes 4000 attempts of 2000 pending deliveries within the time limit", { timeout: 20_000 }, async () => {
  const count = async (deliveries: number) => {
    const { service } = openShop({ deliver: () => new Response(null, { status: 500 }) });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    for (let sent = 0; sent < deliveries; sent++) service.webhooks.sendTest(id);
    const attempts = await service.clock.advance("1m");
    return attempts.length;
  };
  expect(await count(2000)).toBe(4000);
});

it("drops attempts that are in progress on a reset", async () => {
  let respond: (response: Response) => void = () => {};
  const { service, inbox, purchase } = await shopWithEndpoint([
    new Promise((resolve) => (respond = resolve)),
  ]);
  const purchased = purchase();
  service.reset();
  respond(new Response(null, { status: 204 }));
  await purchased;
  expect([service.webhooks.deliveries(), inbox.events]).toEqual([[], []]);
});
