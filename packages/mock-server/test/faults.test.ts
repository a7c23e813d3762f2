/** Injected faults: which requests they match, whether the card is issued, and what clients and receivers get. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { FaultInput } from "../src/index.ts";
import { openShop, receiver, signUp, template } from "./shop.ts";

const countCards = async ({ call }: ReturnType<typeof openShop>) =>
  (await call("GET", "/_mock/cards", { key: null })).body.total;

/** Every fault there is after the commit; a caller with time limits survives them all. */
const afterCommit: Extract<FaultInput, { phase: unknown }>[] = [
  { kind: "status", status: 500, phase: "after-commit" },
  { kind: "status", status: 503, retryAfterSeconds: 0, phase: "after-commit" },
  { kind: "html", phase: "after-commit" },
  { kind: "latency", delayMs: 5, phase: "after-commit" },
  { kind: "reset", phase: "after-commit" },
  { kind: "destroy", phase: "after-commit" },
  { kind: "truncate", phase: "after-commit" },
  { kind: "malformed", phase: "after-commit" },
  { kind: "hang", phase: "after-commit" },
];

/** Issues a card with fetch; undefined without a readable response. */
async function issueOnce({ service }: ReturnType<typeof openShop>, idempotencyKey: string) {
  const request = new Request(`${service.baseUrl}/api/v1/templates/${template.id}/passes`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.apiKeys.website}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    },
    body: JSON.stringify(signUp()),
    signal: AbortSignal.timeout(1_000),
  });
  try {
    const response = await service.fetch(request);
    const retryAfter = response.headers.get("retry-after");
    return { status: response.status, retryAfter, id: ((await response.json()) as { id?: string }).id };
  } catch (error) {
    return { error: error as Error };
  }
}

describe("a fault after the commit", () => {
  it.each(afterCommit)("issues the card under %j", async (fault) => {
    const shop = openShop();
    shop.service.faults.add({ ...fault, times: 1 });
    const first = await issueOnce(shop, "user-1");
    expect(await countCards(shop)).toBe(1);
    if (fault.kind === "latency") expect(first.status).toBe(201);
    else expect(first.id).toBeUndefined();
    const again = await issueOnce(shop, "user-1");
    expect([again.status, await countCards(shop), shop.service.faults.list()]).toEqual([201, 1, []]);
  });

  it.each(afterCommit)("issues one card for 30 concurrent calls with one key under %j", async (fault) => {
    const shop = openShop();
    shop.service.faults.add({ ...fault, times: 20 });
    await Promise.all(Array.from({ length: 30 }, () => issueOnce(shop, "user-1")));
    expect(await countCards(shop)).toBe(1);
  });
});

describe("a fault before processing", () => {
  it.each(afterCommit.filter(({ kind }) => kind !== "latency"))("issues no card under %j", async (fault) => {
    const shop = openShop();
    shop.service.faults.add({ ...fault, phase: "before", times: 1 });
    expect((await issueOnce(shop, "user-1")).id).toBeUndefined();
    expect(await countCards(shop)).toBe(0);
    expect((await issueOnce(shop, "user-1")).status).toBe(201);
  });
});

it("makes fetch reject or respond as each fault specifies", async () => {
  const met = async (fault: FaultInput) => {
    const shop = openShop();
    shop.service.faults.add(fault);
    const { error, status } = await issueOnce(shop, "user-1");
    return error === undefined ? status : [error.name, error.message];
  };
  const phase = "after-commit";
  expect(await met({ phase, kind: "reset" })).toEqual(["TypeError", "fetch failed"]);
  expect(await met({ phase, kind: "destroy" })).toEqual(["TypeError", "fetch failed"]);
  expect(await met({ phase, kind: "truncate" })).toEqual(["TypeError", "terminated"]);
  expect(await met({ phase, kind: "malformed" })).toEqual(["TypeError", "terminated"]);
  expect((await met({ phase, kind: "hang" }))?.toString()).toContain("TimeoutError");
});

it("lets a hanging caller abort, also after a garbage collection", async () => {
  const { service } = openShop();
  service.faults.add({ phase: "before", kind: "hang" });
  const read = () =>
    service.fetch(
      new Request(`${service.baseUrl}/api/v1/passes/card_1`, {
        headers: { authorization: `Bearer ${service.apiKeys.website}` },
        signal: AbortSignal.timeout(300),
      }),
    );
  const response = read().catch((error: Error) => error.name);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  expect(await response).toBe("TimeoutError");
});

it("injects the first fault that matches, as often as `times` says", async () => {
  const { service, call } = openShop();
  service.faults.add({
    phase: "before",
    kind: "status",
    status: 500,
    times: 1,
    match: { operation: "getConsent" },
  });
  service.faults.add({
    phase: "before",
    kind: "status",
    status: 501,
    times: 2,
    match: { path: "/api/*/passes/*" },
  });
  const last = service.faults.add({ phase: "before", kind: "status", status: 502, match: { method: "put" } });
  service.faults.add({ phase: "before", kind: "status", status: 503, match: { idempotencyKey: "k" } });
  const read = async (path: string) => (await call("GET", `/api/v1/passes/card_1${path}`)).status;
  expect([await read("/consent"), await read("/consent"), await read(""), await read("")]).toEqual([
    500, 501, 501, 404,
  ]);
  const put = async () =>
    (await call("PUT", "/api/v1/passes/card_1/consent", { body: { marketing: true } })).status;
  expect([await put(), await put()]).toEqual([502, 502]);
  service.faults.remove(last.id);
  expect(await put()).toBe(404);
  const issue = (key: string) =>
    call("POST", "/api/v1/templates/tpl_none/passes", {
      body: signUp(),
      headers: { "idempotency-key": key },
    });
  expect([(await issue("k")).status, (await issue("other")).status]).toEqual([503, 404]);
  service.faults.clear();
  expect([(await issue("k")).status, service.faults.list()]).toEqual([404, []]);
});

it("does not count a fault after the commit when the request is rejected", async () => {
  const { service, call } = openShop();
  service.faults.add({ phase: "after-commit", kind: "reset", times: 1 });
  expect((await call("GET", "/api/v1/passes/card_1")).status).toBe(404);
  expect(service.faults.list()).toHaveLength(1);
});

describe("a fault while the first request with a key is processed", () => {
  const phase = "before";

  it("responds 409 to a second request during the latency of the first one, in both phases", async () => {
    for (const latencyPhase of ["before", "after-commit"] as const) {
      const shop = openShop();
      shop.service.faults.add({ phase, kind: "in-progress", retryAfterSeconds: 2 });
      shop.service.faults.add({ phase: latencyPhase, kind: "latency", delayMs: 50, times: 1 });
      const first = issueOnce(shop, "user-1");
      expect(await issueOnce(shop, "user-1")).toMatchObject({ status: 409, retryAfter: "2" });
      expect((await issueOnce(shop, "user-2")).status).toBe(201);
      const { status, id } = await first;
      expect([status, (await issueOnce(shop, "user-1")).id]).toEqual([201, id]);
    }
  });

  it("responds 409 after a lost response, until the duration has passed on the service's clock", async () => {
    const shop = openShop();
    const { faults, clock } = shop.service;
    faults.add({ phase, kind: "in-progress", durationMs: 3_000 });
    faults.add({ phase: "after-commit", kind: "reset", times: 1 });
    expect(await issueOnce(shop, "user-1")).toHaveProperty("error");
    expect((await issueOnce(shop, "user-1")).status).toBe(409);
    await clock.advance(2_999);
    expect((await issueOnce(shop, "user-1")).status).toBe(409);
    await clock.advance(1);
    expect((await issueOnce(shop, "user-1")).status).toBe(201);
    expect(await countCards(shop)).toBe(1);
  });

  it("responds with its own status, as often as `times` says", async () => {
    const shop = openShop();
    shop.service.faults.add({ phase, kind: "in-progress", durationMs: 1, status: 423, times: 2 });
    const statuses: unknown[] = [];
    for (let call = 0; call < 4; call++) statuses.push((await issueOnce(shop, "user-1")).status);
    expect([statuses, shop.service.faults.list()]).toEqual([[201, 423, 423, 201], []]);
  });

  it("affects no first request, no request without a key and no key after an error", async () => {
    const { service, call, issue } = openShop();
    service.faults.add({ phase, kind: "in-progress", durationMs: 600_000 });
    const key = { "idempotency-key": "user-1" };
    expect((await issue(signUp({}, {}), key)).status).toBe(422);
    const { body, status } = await issue(signUp(), key);
    expect(status).toBe(201);
    expect([(await issue()).status, (await issue()).status]).toEqual([201, 201]);
    expect((await call("GET", `/api/v1/passes/${body.id}`, { headers: key })).status).toBe(200);
  });
});

it("removes faults on a reset, and restores them from a snapshot", () => {
  const { service } = openShop();
  service.faults.add({ phase: "before", kind: "hang" });
  const snapshot = service.snapshot();
  service.reset();
  expect(service.faults.list()).toEqual([]);
  service.restore(snapshot);
  expect(service.faults.list()).toMatchObject([{ kind: "hang" }]);
});

describe("faults of deliveries", () => {
  async function shopWith(...faults: FaultInput[]) {
    const inbox = receiver();
    const shop = openShop({ deliver: inbox.deliver });
    inbox.subscribe(shop.service, ["balance.changed", "ping"]);
    for (const fault of faults) shop.service.faults.add(fault);
    const { id } = (await shop.issue()).body;
    const buy = (points: number) => shop.service.cards.purchase(id, { points });
    return {
      ...shop,
      inbox,
      buy,
      balances: () => inbox.events.map(({ data }) => (data as { balance: number }).balance),
    };
  }

  it("delivers an event twice with one event id", async () => {
    const { service, inbox, buy } = await shopWith({
      kind: "duplicate",
      times: 1,
      match: { event: "balance.changed" },
    });
    buy(1);
    buy(2);
    await service.idle();
    const [first, twin, other] = inbox.events.map(({ id }) => id);
    expect([first === twin, first === other, inbox.events.length]).toEqual([true, false, 3]);
    expect(new Set(inbox.requests.map(({ headers }) => headers.get("service-delivery"))).size).toBe(3);
  });

  it("delivers an event after the next one, or after a second when there is none", async () => {
    const { service, buy, balances } = await shopWith({ kind: "reorder", times: 1 });
    buy(1);
    await service.idle();
    expect(balances()).toEqual([]);
    buy(2);
    await service.idle();
    expect(balances()).toEqual([3, 1]);
    expect(service.webhooks.deliveries().map(({ attempts }) => attempts.length)).toEqual([1, 1]);

    service.faults.add({ kind: "reorder", times: 1 });
    buy(4);
    expect(await service.clock.advance("999ms")).toEqual([]);
    await service.clock.advance("1ms");
    expect(balances()).toEqual([3, 1, 7]);
  });

  it("drops an attempt, and retries the delivery", async () => {
    const { service, inbox, buy } = await shopWith({ kind: "drop", times: 2 });
    buy(1);
    await service.clock.advance("6m");
    const dropped = { error: "dropped by an injected fault" };
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "delivered", attempts: [dropped, dropped, { status: 204 }] },
    ]);
    expect(inbox.requests).toHaveLength(1);
  });
});

it("does not retry a resent delivery at its former time", async () => {
  const inbox = receiver();
  inbox.responses.push(500, 500);
  const { service } = openShop({ deliver: inbox.deliver });
  const { id } = inbox.subscribe(service, ["ping"]);
  const sent = service.webhooks.sendTest(id);
  await service.clock.advance("30s");
  service.webhooks.resend(sent.id);
  await service.idle();
  expect(await service.clock.advance("30s")).toEqual([]); // the retry of the first failure
  expect(await service.clock.advance("30s")).toMatchObject([{ status: 204 }]);
});

describe("an invalid fault", () => {
  const phase = "before";

  it("names its member", async () => {
    const { service, call } = openShop();
    expect(() => service.faults.add({ kind: "status" } as never)).toThrow(
      /"phase" is missing.*"status" is missing/,
    );
    for (const status of [204, 205, 304]) {
      const fault = { phase, kind: "html", status };
      expect(() => service.faults.add(fault as FaultInput)).toThrow(/"status" must not be \d+: .* no body/);
      const refused = await call("POST", "/_mock/faults", { body: fault, key: null });
      expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, "/status"]);
    }
  });

  it.each([
    { phase, kind: "html", status: 101 },
    { phase, kind: "html", status: 600 },
    { phase, kind: "html", status: 200.5 },
    { phase, kind: "status", status: 204 },
    { phase, kind: "status", status: Number.NaN },
    { phase, kind: "status", status: 503, retryAfterSeconds: "1\r\nx: y" },
    { phase, kind: "latency", delayMs: Number.NaN },
    { phase, kind: "latency", delayMs: Number.POSITIVE_INFINITY },
    { phase, kind: "truncate", status: 304 },
    { phase, kind: "in-progress", status: 503 },
    { phase, kind: "in-progress", durationMs: -1 },
    { phase: "after-commit", kind: "in-progress" },
    { phase, kind: "__proto__" },
    { kind: "drop", match: { event: "constructor" } },
    { kind: "drop", times: Number.NaN },
  ])("is refused: %j", (fault) => {
    const { service } = openShop();
    expect(() => service.faults.add(fault as never)).toThrow(TypeError);
    expect(service.faults.list()).toEqual([]);
  });

  const readFaulty = async (fault: FaultInput) => {
    const { service } = openShop();
    service.faults.add(fault);
    const headers = { authorization: `Bearer ${service.apiKeys.full}` };
    const response = await service.fetch(new Request(`${service.baseUrl}/api/v1/passes/x`, { headers }));
    return [response.status, await response.text()];
  };

  it("validates the stored fault, also when a getter returns another value later", async () => {
    let reads = 0;
    const fault = {
      phase,
      kind: "html",
      get status() {
        return reads++ === 0 ? 502 : 204;
      },
    };
    expect(await readFaulty(fault as FaultInput)).toMatchObject([502, expect.any(String)]);
  });

  it.each([200, 206, 301, 404, 599])("accepts an HTML page with status %i", async (status) => {
    expect(await readFaulty({ phase, kind: "html", status })).toEqual([
      status,
      expect.stringContaining("<h1>"),
    ]);
  });
});
