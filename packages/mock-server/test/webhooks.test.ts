/** Deliveries: signed anew each time, retried by the schedule of spec 3.2, and all on record. */
import { WebhookVerificationError } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { createMockService, type MockService, type MockServiceOptions } from "../src/index.ts";
import { noon, openShop, receiver } from "./shop.ts";

const minute = 60_000;
const hour = 60 * minute;

async function shopWithEndpoint(answers: (number | Error | Promise<Response>)[] = []) {
  const inbox = receiver();
  inbox.answers.push(...answers);
  const shop = openShop({ deliver: inbox.deliver, answerWithinMs: 500 });
  const endpoint = inbox.subscribe(shop.service, ["balance.changed"]);
  const { body } = await shop.issue();
  const purchase = async () => {
    shop.service.cards.purchase(body.id, { points: 1 });
    await shop.service.idle();
  };
  return { ...shop, inbox, endpoint, purchase };
}

const timesOf = (service: MockService) =>
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

  it("that is answered 2xx is delivered, and not sent again", async () => {
    const { service, inbox, purchase } = await shopWithEndpoint([200]);
    await purchase();
    expect(await service.clock.runUntilIdle()).toEqual([]);
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "delivered", attempts: [{ status: 200 }] },
    ]);
    expect(service.webhooks.deliveries()[0]).not.toHaveProperty("nextAttemptAt");
    expect(inbox.requests).toHaveLength(1);
  });

  it("starts only after whoever caused it has its answer", async () => {
    const { service, inbox, issue } = await shopWithEndpoint();
    const { body } = await issue();
    service.cards.purchase(body.id, { points: 1 });
    expect(inbox.requests).toHaveLength(0);
    await service.idle();
    expect(inbox.requests).toHaveLength(1);
  });

  it("goes only to endpoints that chose its event", async () => {
    const { service, inbox, issue } = await shopWithEndpoint();
    const { body } = await issue();
    service.cards.addToWallet(body.id, "apple");
    await service.idle();
    expect(inbox.requests).toHaveLength(0);
  });
});

describe("the ladder", () => {
  it("tries after 1 min, 5 min, 30 min, 2 h and 6 h, each after the failure before, and then fails", async () => {
    const { service, purchase } = await shopWithEndpoint(Array(6).fill(500));
    await purchase();
    const fired = await service.clock.runUntilIdle();
    const expected = [0, 1, 6, 36, 156, 516].map((minutes) => minutes * minute);
    expect(timesOf(service)).toEqual(expected);
    expect(fired.map(({ at }) => Date.parse(at) - noon)).toEqual(expected.slice(1));
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "failed" }]);
    expect(service.clock.now() - noon).toBe(516 * minute);
  });

  it("ends with the first 2xx", async () => {
    const { service, inbox, purchase } = await shopWithEndpoint([500, 404, 301]);
    await purchase();
    await service.clock.runUntilIdle();
    const [delivery] = service.webhooks.deliveries();
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 404, 301, 204]);
    expect(delivery?.state).toBe("delivered");
    expect(inbox.events).toHaveLength(1);
  });

  it("shows when the next attempt is", async () => {
    const { service, purchase } = await shopWithEndpoint([500, 500]);
    await purchase();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "pending", nextAttemptAt: "2026-03-01T12:01:00.000Z" },
    ]);
    await service.clock.advanceToNextDelivery();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "pending", nextAttemptAt: "2026-03-01T12:06:00.000Z" },
    ]);
  });

  it("counts no answer and no connection as failures", async () => {
    const refused = Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    const { service, purchase } = await shopWithEndpoint([refused, new Promise<Response>(() => {})]);
    await purchase();
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries()).toMatchObject([
      {
        state: "delivered",
        attempts: [{ error: "ECONNREFUSED" }, { error: "no answer within 0.5 s" }, { status: 204 }],
      },
    ]);
  });

  it("signs each attempt anew: same body, same delivery, another t", async () => {
    const { service, inbox, purchase } = await shopWithEndpoint(Array(6).fill(500));
    await purchase();
    await service.clock.runUntilIdle();
    const headers = (name: string) => inbox.requests.map((request) => request.headers.get(name));
    expect(new Set(await Promise.all(inbox.requests.map((request) => request.text()))).size).toBe(1);
    expect(new Set(headers("service-delivery")).size).toBe(1);
    expect(headers("service-signature").map((value) => Number(/t=(\d+)/.exec(value ?? "")?.[1]))).toEqual(
      [0, 1, 6, 36, 156, 516].map((minutes) => (noon + minutes * minute) / 1000),
    );
  });
});

describe("moving the clock", () => {
  it("fires what falls due on the way, in order, and stops exactly at the end", async () => {
    const { service, purchase } = await shopWithEndpoint(Array(6).fill(500));
    await purchase();
    expect(await service.clock.advance("59s")).toEqual([]);
    expect((await service.clock.advance("1s")).map(({ status }) => status)).toEqual([500]);
    const fired = await service.clock.advance("6h");
    expect(fired.map(({ at }) => (Date.parse(at) - noon) / minute)).toEqual([6, 36, 156]);
    expect(service.clock.now() - noon).toBe(6 * hour + minute);
  });

  it("to the next delivery stops there", async () => {
    const { service, purchase } = await shopWithEndpoint([500]);
    await purchase();
    expect(await service.clock.advanceToNextDelivery()).toMatchObject([
      { status: 204, type: "balance.changed" },
    ]);
    expect(service.clock.now() - noon).toBe(minute);
    expect(await service.clock.advanceToNextDelivery()).toEqual([]);
    expect(service.clock.now() - noon).toBe(minute);
  });

  it("fires also what the receiver itself causes", async () => {
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

  it("takes movements that are not awaited in turn", async () => {
    const { service } = await shopWithEndpoint();
    await Promise.all([
      service.clock.advance("1h"),
      service.clock.advance("1h"),
      service.clock.advance("1h"),
    ]);
    expect(service.clock.now() - noon).toBe(3 * hour);
  });

  it("returns also the attempts that were under way when it began", async () => {
    const { service, endpoint } = await shopWithEndpoint([500]);
    service.webhooks.sendTest(endpoint.id);
    expect((await service.clock.runUntilIdle()).map(({ status }) => status)).toEqual([500, 204]);
  });

  it("needs a manual clock, and says so", async () => {
    await expect(createMockService().clock.advance("1h")).rejects.toThrow("clock: manualClock()");
  });

  it.each(["1 h", "h", "-1h", "1w", "999999999d", -1, 1e300, Number.NaN])(
    "refuses the span %s",
    async (span) => {
      const { service } = await shopWithEndpoint();
      await expect((async () => service.clock.advance(span as "1h"))()).rejects.toThrow(/is not a duration/);
    },
  );
});

describe("the console's buttons", () => {
  it('"Send test" delivers a ping, whatever events were chosen', async () => {
    const { service, inbox, endpoint } = await shopWithEndpoint();
    const { id } = service.webhooks.sendTest(endpoint.id);
    await service.idle();
    expect(inbox.events).toMatchObject([{ type: "ping" }]);
    expect(service.webhooks.deliveries({ type: "ping" })).toMatchObject([{ id, state: "delivered" }]);
  });

  it('"New secret" replaces the old one at once', async () => {
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

  it('"Resend" sends the same event as the same delivery, with a ladder of its own', async () => {
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

  it("filters the log", async () => {
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
    const { service } = openShop({ deliver: deliver as never, answerWithinMs: 500 });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    service.webhooks.sendTest(id);
    await service.idle();
    return service.webhooks.deliveries()[0]?.attempts[0];
  };

  it("counts the status, whatever becomes of the body", async () => {
    const read = new Response("ok");
    await read.text();
    expect(await oneDelivery(() => read)).toMatchObject({ status: 200 });
    const endless = new ReadableStream({ cancel: () => new Promise(() => {}) });
    expect(await oneDelivery(() => new Response(endless))).toMatchObject({ status: 200 });
  });

  it.each([
    ["throws null", () => Promise.reject(null), "the receiver threw null"],
    ["throws what has no prototype", () => Promise.reject(Object.create(null)), "the receiver threw object"],
    ["gives nothing", () => undefined, /undefined/],
  ])("fails when the receiver %s", async (_name, deliver, error) => {
    expect((await oneDelivery(deliver))?.error).toMatch(error);
  });

  it("that is under way when it is resent is followed by another", async () => {
    let answer: (response: Response) => void = () => {};
    const { service, inbox, purchase } = await shopWithEndpoint([
      new Promise((resolve) => (answer = resolve)),
    ]);
    const purchased = purchase();
    await Promise.resolve();
    service.webhooks.resend(service.webhooks.deliveries()[0]?.id ?? "");
    answer(new Response(null, { status: 204 }));
    await purchased;
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "delivered", attempts: [{ status: 204 }, { status: 204 }] },
    ]);
    expect(inbox.requests).toHaveLength(2);
  });
});

it("thousands of deliveries wait without slowing each other down", async () => {
  const count = async (deliveries: number) => {
    const { service } = openShop({ deliver: () => new Response(null, { status: 500 }) });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    for (let sent = 0; sent < deliveries; sent++) service.webhooks.sendTest(id);
    const fired = await service.clock.advance("1m");
    return fired.length;
  };
  expect(await count(2000)).toBe(4000);
});

describe("an endpoint", () => {
  it.each([
    "http://shop.test/webhooks",
    "ftp://shop.test",
    "shop.test",
    "http://127.0.0.1.evil.test/",
    "https://user:pass@shop.test/",
    "",
  ])("may not be %j", (url) => {
    const { service } = openShop();
    expect(() => service.webhooks.createEndpoint({ url, events: ["ping"] })).toThrow(TypeError);
  });

  it.each([
    "https://shop.test/webhooks",
    "http://localhost:3000/",
    "http://127.0.0.1:3000/",
    "http://[::1]:3000/",
  ])("may be %s", (url) => {
    const { service } = openShop();
    expect(service.webhooks.createEndpoint({ url, events: ["ping"] }).secret).toMatch(/^whsec_/);
  });

  it("needs events that exist", () => {
    const { service } = openShop();
    const create = (events: string[]) =>
      service.webhooks.createEndpoint({ url: "https://shop.test/", events: events as never });
    expect(() => create([])).toThrow("at least one event");
    expect(() => create(["balance.change"])).toThrow(
      /There is no event "balance.change"; there are card.added/,
    );
  });

  it("must exist for a test, a new secret or a resend", () => {
    const { service } = openShop();
    expect(() => service.webhooks.sendTest("we_1")).toThrow(/no webhook endpoint/);
    expect(() => service.webhooks.newSecret("we_1")).toThrow(/no webhook endpoint/);
    expect(() => service.webhooks.resend("dlv_1")).toThrow(/no delivery/);
  });
});

it("a reset while attempts are under way ends them quietly", async () => {
  let answer: (response: Response) => void = () => {};
  const { service, inbox, purchase } = await shopWithEndpoint([new Promise((resolve) => (answer = resolve))]);
  const purchased = purchase();
  service.reset();
  answer(new Response(null, { status: 204 }));
  await purchased;
  expect([service.webhooks.deliveries(), inbox.events]).toEqual([[], []]);
});

describe("a deliver function that does not keep to its type", () => {
  const unreadable = Object.create(Error.prototype, {
    message: {
      get() {
        throw new Error("no");
      },
    },
  });
  it.each<[string, () => unknown, unknown]>([
    [
      "throws synchronously",
      () => {
        throw new Error("boom");
      },
      "boom",
    ],
    [
      "throws what is no Error",
      () => {
        throw null;
      },
      "the receiver threw null",
    ],
    [
      "throws an error that cannot be read",
      () => {
        throw unreadable;
      },
      expect.stringContaining("cannot be read"),
    ],
    [
      "rejects with a cause that is no text",
      () => Promise.reject(new Error("x", { cause: { code: Object.create(null) } })),
      expect.stringContaining("cannot be read"),
    ],
    ["returns nothing", () => undefined, "the receiver returned undefined, not a Response"],
    ["returns null later", async () => null, "the receiver returned null, not a Response"],
    ["returns a text", () => "204", "the receiver returned string, not a Response"],
    [
      "returns a status that is no number",
      () => ({ status: "204" }),
      "the receiver returned object, not a Response",
    ],
    [
      "returns NaN as its status",
      () => ({ status: Number.NaN }),
      "the receiver returned object, not a Response",
    ],
  ])("%s: a failed attempt, and the next one comes", async (_what, misbehave, error) => {
    let isWell = false;
    const deliver = () => (isWell ? new Response(null, { status: 204 }) : misbehave());
    const { service } = openShop({ deliver: deliver as () => Response });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    service.webhooks.sendTest(id);
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "pending", attempts: [{ error }] }]);
    isWell = true;
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
  });

  it("is delivered by the status, whatever the body is", async () => {
    const bodies = [
      "text",
      {
        cancel: () => {
          throw new Error("no");
        },
      },
      { cancel: 1 },
      7,
    ];
    for (const body of bodies) {
      const { service } = openShop({ deliver: () => ({ status: 204, body }) as never });
      const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
      service.webhooks.sendTest(id);
      await service.idle();
      expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
    }
  });
});

describe("an endpoint", () => {
  async function shopWithFailedDelivery() {
    const shop = await shopWithEndpoint([500]);
    await shop.purchase();
    return shop;
  }

  it("that is changed gets what is pending at its new address, signed with the same secret", async () => {
    const { service, inbox, endpoint } = await shopWithFailedDelivery();
    const changed = service.webhooks.updateEndpoint(endpoint.id, { url: "https://shop.test/moved" });
    expect(changed).toEqual({
      id: endpoint.id,
      url: "https://shop.test/moved",
      events: ["balance.changed"],
    });
    await service.clock.advance("1m");
    expect(inbox.requests.map(({ url }) => url)).toEqual([
      "https://shop.test/webhooks",
      "https://shop.test/moved",
    ]);
    expect(inbox.events).toHaveLength(1);
  });

  it("that is changed gets its new events, and no longer the old ones", async () => {
    const { service, inbox, endpoint, purchase, issue } = await shopWithEndpoint();
    service.webhooks.updateEndpoint(endpoint.id, { events: ["card.added"] });
    await purchase();
    const { body } = await issue();
    service.cards.addToWallet(body.id, "apple");
    await service.idle();
    expect(inbox.events.map(({ type }) => type)).toEqual(["card.added"]);
  });

  it("is not changed by an address or an event that is not allowed", async () => {
    const { service, endpoint } = await shopWithEndpoint();
    const before = service.snapshot();
    const change = (to: object) => () => service.webhooks.updateEndpoint(endpoint.id, to);
    expect(change({ url: "http://shop.test/", events: ["ping"] })).toThrow(/https/);
    expect(change({ url: "https://shop.test/new", events: ["pong"] })).toThrow(/no event "pong"/);
    expect(change({ events: [] })).toThrow(/at least one event/);
    expect(service.snapshot()).toEqual(before);
    expect(() => service.webhooks.updateEndpoint("we_none", {})).toThrow(/no webhook endpoint "we_none"/);
  });

  it("that is deleted gets nothing any more: what was pending is failed, and not attempted again", async () => {
    const { service, inbox, endpoint, purchase } = await shopWithFailedDelivery();
    service.webhooks.deleteEndpoint(endpoint.id);
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "failed", attempts: [{ status: 500 }] }]);
    expect(service.webhooks.deliveries()[0]).not.toHaveProperty("nextAttemptAt");
    expect(service.clock.nextAttemptAt()).toBeUndefined();
    await purchase();
    expect(await service.clock.runUntilIdle()).toEqual([]);
    expect(inbox.requests).toHaveLength(1);
  });

  it.each([
    [204, "delivered"],
    [500, "failed"],
  ])(
    "that is deleted during an attempt: the attempt is the last one, %i leaves it %s",
    async (status, state) => {
      let respond = (_response: Response) => {};
      const response = new Promise<Response>((resolve) => {
        respond = resolve;
      });
      const { service, endpoint, inbox, issue } = await shopWithEndpoint([response]);
      const { body } = await issue();
      service.cards.purchase(body.id, { points: 1 });
      await expect.poll(() => inbox.requests.length).toBe(1);
      const [sent] = service.webhooks.deliveries();
      service.webhooks.resend(sent?.id ?? "");
      service.webhooks.deleteEndpoint(endpoint.id);
      respond(new Response(null, { status }));
      await service.idle();
      expect(await service.clock.runUntilIdle()).toEqual([]);
      const [delivery] = service.webhooks.deliveries();
      expect(delivery).toMatchObject({ state, attempts: [{ status }] });
      expect(delivery).not.toHaveProperty("nextAttemptAt");
      expect(inbox.requests).toHaveLength(1);
    },
  );

  it("that is deleted is unknown, and its deliveries are not resent", async () => {
    const { service, endpoint } = await shopWithFailedDelivery();
    service.webhooks.deleteEndpoint(endpoint.id);
    const [delivery] = service.webhooks.deliveries();
    expect(() => service.webhooks.resend(delivery?.id ?? "")).toThrow(
      "The endpoint of this delivery was deleted.",
    );
    expect(() => service.webhooks.deleteEndpoint(endpoint.id)).toThrow(/no webhook endpoint/);
    expect(() => service.webhooks.sendTest(endpoint.id)).toThrow(/no webhook endpoint/);
  });

  const create = (url: string, options: MockServiceOptions = {}) =>
    createMockService(options).webhooks.createEndpoint({ url, events: ["ping"] });
  const privateUrls = [
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://169.254.169.254/",
    "https://100.64.0.1/",
    "https://100.127.0.1/",
    "https://0.0.0.0/",
    "https://0xa000001/",
    "https://167772161/",
    "https://10.1/",
    "https://10.0.0.1./",
    "https://[::]/",
    "https://[fc00::1]/",
    "https://[fdff::1]/",
    "https://[fe80::1]/",
    "https://[febf::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:c0a8:101]/",
    "https://receiver/",
    "https://shop.local/",
    "https://shop.internal/",
  ];

  it.each(privateUrls)("at the private address %s is refused unless allowed", (url) => {
    expect(() => create(url)).toThrow(/private network; allowPrivateEndpoints .* allows it/);
    expect(create(url, { allowPrivateEndpoints: true }).id).toMatch(/^we_/);
  });

  it.each([
    "https://shop.test/",
    "https://9.255.255.255/",
    "https://11.0.0.1/",
    "https://172.15.0.1/",
    "https://172.32.0.1/",
    "https://192.167.0.1/",
    "https://169.253.0.1/",
    "https://100.63.0.1/",
    "https://100.128.0.1/",
    "https://[fc::1]/",
    "https://[2001:db8::1]/",
    "https://[fec0::1]/",
    "https://10.example/",
    "https://localhost/",
    "https://127.0.0.1:8443/",
    "http://127.0.0.1:3000/",
    "http://localhost:3000/",
    "http://[::1]:3000/",
    "http://[::ffff:127.0.0.1]:3000/",
  ])("at the address %s is allowed", (url) => {
    expect(create(url).id).toMatch(/^we_/);
  });

  it.each(["http://10.0.0.1/", "http://shop.test/", "ftp://127.0.0.1/"])("at %s is refused always", (url) => {
    for (const allowPrivateEndpoints of [false, true]) {
      expect(() => create(url, { allowPrivateEndpoints })).toThrow(/must be https/);
    }
  });

  it("with a private address is refused in the seed, and when it is changed", () => {
    const endpoints = [{ url: "https://10.0.0.1/", events: ["ping" as const] }];
    expect(() => createMockService({ endpoints })).toThrow(/private network/);
    expect(createMockService({ endpoints, allowPrivateEndpoints: true }).endpoints).toHaveLength(1);
    const { webhooks } = createMockService();
    const { id } = webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    expect(() => webhooks.updateEndpoint(id, { url: "https://10.0.0.1/" })).toThrow(/private network/);
  });
});

it("a clock that breaks later ends no process: idle() says so", async () => {
  let nowMs = noon;
  const { service } = openShop({
    clock: { now: () => nowMs },
    deliver: () => new Response(null, { status: 500 }),
  });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  nowMs = Number.NaN;
  await expect(service.idle()).rejects.toThrow(RangeError);
  await service.idle();
});
