/** Webhook endpoints: allowed addresses, subscriptions, changes and deletion (spec 6.3). */
import { describe, expect, it } from "vitest";
import { createMockService, type MockServiceOptions } from "../src/index.ts";
import { openShop, shopWithEndpoint } from "./shop.ts";

describe("an endpoint", () => {
  it("needs at least one event, and only known ones", () => {
    const { service } = openShop();
    const create = (events: string[]) =>
      service.webhooks.createEndpoint({ url: "https://shop.test/", events: events as never });
    expect(() => create([])).toThrow("at least one event");
    expect(() => create(["balance.change"])).toThrow(
      /There is no event "balance.change"; there are card.added/,
    );
  });

  it("must exist for a test event, a new secret or a resend", () => {
    const { service } = openShop();
    expect(() => service.webhooks.sendTest("we_1")).toThrow(/no webhook endpoint/);
    expect(() => service.webhooks.newSecret("we_1")).toThrow(/no webhook endpoint/);
    expect(() => service.webhooks.resend("dlv_1")).toThrow(/no delivery/);
  });

  async function shopWithFailedDelivery() {
    const shop = await shopWithEndpoint([500]);
    await shop.purchase();
    return shop;
  }

  it("gets pending deliveries at its new address, signed with the same secret", async () => {
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
    expect(change({ url: "https://shop.test/new", events: ["pong"] })).toThrow(/no event "pong"/);
    expect(change({ events: [] })).toThrow(/at least one event/);
    expect(service.snapshot()).toEqual(before);
    expect(() => service.webhooks.updateEndpoint("we_none", {})).toThrow(/no webhook endpoint "we_none"/);
  });

  it("gets nothing after it is deleted: its pending deliveries are failed", async () => {
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
    "gets no attempt after the one in progress when it is deleted; a %i leaves the delivery %s",
    async (status, state) => {
      let respond = (_response: Response) => {};
      const response = new Promise<Response>((resolve) => {
        respond = resolve;
      });
      const { service, endpoint, inbox, issue } = await shopWithEndpoint([response]);
      const { body } = await issue();
      service.cards.purchase(body.id, { points: 1 });
      while (inbox.requests.length === 0) await new Promise(setImmediate); // the attempt has half a second
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

  it("is unknown after it is deleted, and its deliveries are not resent", async () => {
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
  it.each(
    [
      "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.127.0.1 0.0.0.0",
      "0xa000001 167772161 10.1 10.0.0.1. [::] [fc00::1] [fdff::1] [fe80::1] [febf::1]",
      "[::ffff:10.0.0.1] [::ffff:c0a8:101] receiver shop.local shop.internal",
    ].flatMap((hosts) => hosts.split(" ").map((host) => `https://${host}/`)),
  )("rejects the private address %s unless private addresses are allowed", (url) => {
    expect(() => create(url)).toThrow(/private network; allowPrivateEndpoints .* allows it/);
    expect(create(url, { allowPrivateEndpoints: true }).id).toMatch(/^we_/);
  });

  it.each([
    ..."shop.test 9.255.255.255 11.0.0.1 172.15.0.1 172.32.0.1 192.167.0.1 169.253.0.1 100.63.0.1 100.128.0.1"
      .split(" ")
      .map((host) => `https://${host}/`),
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
  ])("accepts the public or loopback address %s", (url) => {
    expect(create(url).secret).toMatch(/^whsec_/);
  });

  it.each([
    "http://10.0.0.1/",
    "http://shop.test/",
    "http://127.0.0.1.evil.test/",
    "ftp://127.0.0.1/",
    "ftp://shop.test",
  ])("always rejects %s", (url) => {
    for (const allowPrivateEndpoints of [false, true])
      expect(() => create(url, { allowPrivateEndpoints })).toThrow(/must be https/);
  });

  it.each(["shop.test", "https://user:pass@shop.test/", ""])("rejects the address %j", (url) => {
    expect(() => create(url)).toThrow(TypeError);
  });

  it("rejects a private address in the seed, and in a change", () => {
    const endpoints = [{ url: "https://10.0.0.1/", events: ["ping" as const] }];
    expect(() => createMockService({ endpoints })).toThrow(/private network/);
    expect(createMockService({ endpoints, allowPrivateEndpoints: true }).endpoints).toHaveLength(1);
    const { webhooks } = createMockService();
    const { id } = webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    expect(() => webhooks.updateEndpoint(id, { url: "https://10.0.0.1/" })).toThrow(/private network/);
  });
});
