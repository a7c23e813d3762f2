/**
 * Injected faults: which requests they match, whether the card is issued, and what clients and
 * receivers get.
 */
import { STATUS_CODES } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openMockShop, receiver, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";
import type { FaultInput } from "../src/index.ts";
import { issueRequest } from "./shop.ts";

const countCards = async ({ call }: ReturnType<typeof openMockShop>) =>
  (await call("GET", "/_mock/cards", { key: null })).body.total;

const phase = "after-commit";
const isCut = { error: new TypeError("terminated") };
const hasFailed = { error: new TypeError("fetch failed") };

/** Every fault there is after the commit, and what the caller meets. */
const afterCommit: [Extract<FaultInput, { phase: unknown }>, object][] = [
  [
    { kind: "status", status: 500, phase },
    { status: 500, retryAfter: null, id: undefined },
  ],
  [
    { kind: "status", status: 503, retryAfterSeconds: 0, phase },
    { status: 503, retryAfter: "0", id: undefined },
  ],
  [{ kind: "html", phase }, { error: expect.any(SyntaxError) }],
  [
    { kind: "latency", delayMs: 5, phase },
    { status: 201, id: expect.stringMatching(/^card_/) },
  ],
  [{ kind: "reset", phase }, hasFailed],
  [{ kind: "destroy", phase }, hasFailed],
  [{ kind: "truncate", phase }, isCut],
  [{ kind: "hang", phase }, { error: expect.objectContaining({ name: "TimeoutError" }) }],
];

/** Issues a card with fetch; a caller of a service that hangs has a time limit. */
async function issueOnce({ service }: ReturnType<typeof openMockShop>, idempotencyKey: string) {
  const isHanging = service.faults.list().some(({ kind }) => kind === "hang");
  const limit = isHanging ? AbortSignal.timeout(100) : undefined;
  try {
    const headers = { "idempotency-key": idempotencyKey };
    const response = await service.fetch(issueRequest(service, headers, limit));
    const retryAfter = response.headers.get("retry-after");
    return {
      status: response.status,
      retryAfter,
      id: ((await response.json()) as { id?: string }).id,
    };
  } catch (error) {
    return { error: error as Error };
  }
}

// RFC 9457, 4.2.1
it.each([403, 408, 409, 410, 423, 425, 429, 500, 502, 503, 504])(
  "gives a problem of status %i the phrase of the status as its title",
  async (status) => {
    const { service } = openMockShop();
    service.faults.add({ kind: "status", status, phase: "before" });
    const response = await service.fetch(issueRequest(service));
    const problem = { type: "about:blank", title: STATUS_CODES[status], status };
    expect(await response.json()).toMatchObject(problem);
  },
);

it.each(afterCommit)(
  "issues one card under %j, also for 30 concurrent calls with one key",
  async (fault, met) => {
    const shop = openMockShop();
    // The first call, and 20 of the 30: none is left for the last call.
    shop.service.faults.add({ ...fault, times: 21 });
    expect(await issueOnce(shop, "user-1")).toMatchObject(met);
    expect(await countCards(shop)).toBe(1);
    await Promise.all(Array.from({ length: 30 }, () => issueOnce(shop, "user-1")));
    const again = await issueOnce(shop, "user-1");
    expect([again.status, await countCards(shop), shop.service.faults.list()]).toEqual([
      201,
      1,
      [],
    ]);
  },
);

it.each(afterCommit.filter(([{ kind }]) => kind !== "latency"))(
  "issues no card under %j when it comes before processing",
  async (fault, met) => {
    const shop = openMockShop();
    shop.service.faults.add({ ...fault, phase: "before", times: 1 });
    expect(await issueOnce(shop, "user-1")).toMatchObject(met);
    expect(await countCards(shop)).toBe(0);
    expect((await issueOnce(shop, "user-1")).status).toBe(201);
  },
);

it("lets a hanging caller abort, also after a garbage collection", async () => {
  const { service } = openMockShop();
  service.faults.add({ phase: "before", kind: "hang" });
  const read = () =>
    service.fetch(
      new Request(`${service.baseUrl}/api/v1/passes/card_1`, {
        headers: { authorization: `Bearer ${service.apiKeys.website}` },
        signal: AbortSignal.timeout(100),
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

it.each([
  ["before", 500, { detail: "The mock service was reset before it processed the request." }],
  ["after-commit", 201, { id: expect.any(String) }],
] as const)(
  "neither processes nor logs a request whose latency ends after a reset: %s",
  async (phase, status, body) => {
    const shop = openMockShop();
    shop.service.faults.add({ phase, kind: "latency", delayMs: 100, times: 1 });
    const fetching = shop.service.fetch(issueRequest(shop.service));
    await expect.poll(() => shop.service.faults.list(), { interval: 5 }).toEqual([]);
    shop.service.reset();
    const response = await fetching;
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining(body),
    ]);
    expect(await countCards(shop)).toBe(0);
    expect(shop.service.requests()).toEqual([]);
  },
);

it("injects a fault with `times` before those that stay, of these the newest, and none into requests of the console", async () => {
  const { service, call } = openMockShop();
  const fault = { phase: "before", kind: "status" } as const;
  service.faults.add({ ...fault, status: 500 });
  service.faults.add({ ...fault, status: 501, times: 1 });
  service.faults.add({ ...fault, status: 502 });
  service.faults.add({ ...fault, status: 503, times: 1 });
  const listed = service.faults.list() as { status?: number }[];
  expect(listed.map(({ status }) => status)).toEqual([501, 503, 502, 500]);
  const read = async (headers = {}) =>
    (await call("GET", "/api/v1/passes/card_1", { headers })).status;
  expect(await read({ "x-sent-by": "console" })).toBe(404);
  expect([await read(), await read(), await read(), await read()]).toEqual([501, 503, 502, 502]);
});

it("injects the first fault that matches, as often as `times` says", async () => {
  const { service, call } = openMockShop();
  const add = (status: number, match: object, times?: number) =>
    service.faults.add({ phase: "before", kind: "status", status, match, ...(times && { times }) });
  add(500, { operation: "getConsent" }, 1);
  add(501, {}, 2);
  const last = add(502, { operation: "setConsent" });
  add(503, { idempotencyKey: "k" });
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
      body: toSignUp(),
      headers: { "idempotency-key": key },
    });
  expect([(await issue("k")).status, (await issue("other")).status]).toEqual([503, 404]);
  service.faults.clear();
  expect([(await issue("k")).status, service.faults.list()]).toEqual([404, []]);
});

it("does not count a fault after the commit when the request is rejected", async () => {
  const { service, call } = openMockShop();
  service.faults.add({ phase: "after-commit", kind: "reset", times: 1 });
  expect((await call("GET", "/api/v1/passes/card_1")).status).toBe(404);
  expect(service.faults.list()).toHaveLength(1);
});

describe("a fault while the first request with a key is processed", () => {
  const phase = "before";

  it("responds 409 to a second request during the latency of the first one, in both phases", async () => {
    for (const latencyPhase of ["before", "after-commit"] as const) {
      const shop = openMockShop();
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
    const shop = openMockShop();
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
    const shop = openMockShop();
    shop.service.faults.add({ phase, kind: "in-progress", durationMs: 1, status: 423, times: 2 });
    const statuses: unknown[] = [];
    for (let call = 0; call < 4; call++) statuses.push((await issueOnce(shop, "user-1")).status);
    expect([statuses, shop.service.faults.list()]).toEqual([[201, 423, 423, 201], []]);
  });

  it("affects no first request, no request without a key and no key after an error", async () => {
    const { service, call, issue } = openMockShop();
    service.faults.add({ phase, kind: "in-progress", durationMs: 600_000 });
    const key = { "idempotency-key": "user-1" };
    expect((await issue(toSignUp({}, {}), key)).status).toBe(422);
    const { body, status } = await issue(toSignUp(), key);
    expect(status).toBe(201);
    expect([(await issue()).status, (await issue()).status]).toEqual([201, 201]);
    expect((await call("GET", `/api/v1/passes/${body.id}`, { headers: key })).status).toBe(200);
  });
});

it("removes faults on a reset, and restores them from a snapshot", () => {
  const { service } = openMockShop();
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
    const shop = openMockShop({ deliver: inbox.deliver });
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
    expect(new Set(inbox.requests.map(({ headers }) => headers.get("service-delivery"))).size).toBe(
      3,
    );
  });

  it.each([500, undefined])(
    "lets attempts fail with %s without sending them, and then retries",
    async (status) => {
      const { service, inbox, buy } = await shopWith({
        kind: "fail",
        times: 2,
        match: { event: "balance.changed" },
        ...(status !== undefined && { status }),
      });
      buy(1);
      await service.idle();
      const [attempt] = await service.clock.advance("1m");
      expect(attempt).toMatchObject({ error: "injected fault; not sent" });
      expect([attempt?.status, attempt?.signature, inbox.requests.length]).toEqual([
        status,
        undefined,
        0,
      ]);
      expect(service.webhooks.deliveries()).toMatchObject([{ state: "pending", failures: 2 }]);
      expect(await service.clock.advance("5m")).toMatchObject([{ status: 204 }]);
      expect([inbox.events.length, service.faults.list()]).toEqual([1, []]);
    },
  );

  it("delivers an event five seconds later, after those of that time", async () => {
    const { service, buy, balances } = await shopWith({ kind: "reorder", times: 1 });
    buy(1);
    await service.idle();
    expect(balances()).toEqual([]);
    buy(2);
    await service.idle();
    expect(balances()).toEqual([3]);
    expect(await service.clock.advance("4999ms")).toEqual([]);
    await service.clock.advance("1ms");
    expect(balances()).toEqual([3, 1]);
    expect(service.webhooks.deliveries().map(({ attempts }) => attempts.length)).toEqual([1, 1]);
  });
});

it("does not retry a resent delivery at its former time", async () => {
  const inbox = receiver();
  inbox.responses.push(500, 500);
  const { service } = openMockShop({ deliver: inbox.deliver });
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
    const { service, call } = openMockShop();
    expect(() => service.faults.add({ kind: "status" } as never)).toThrow(
      /"phase" is missing.*"status" is missing/,
    );
    for (const status of [204, 205, 304]) {
      const fault = { phase, kind: "html", status } as unknown as FaultInput;
      expect(() => service.faults.add(fault)).toThrow(/"status" must be one of 200, /);
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
    { kind: "reorder", match: { event: "constructor" } },
    { kind: "reorder", times: Number.NaN },
    { kind: "fail", status: 204 },
    { kind: "fail", status: 500, phase },
  ])("is refused: %j", (fault) => {
    const { service } = openMockShop();
    expect(() => service.faults.add(fault as never)).toThrow(TypeError);
    expect(service.faults.list()).toEqual([]);
  });

  const readFaulty = async (fault: FaultInput) => {
    const { service } = openMockShop();
    service.faults.add(fault);
    const headers = { authorization: `Bearer ${service.apiKeys.full}` };
    const response = await service.fetch(
      new Request(`${service.baseUrl}/api/v1/passes/x`, { headers }),
    );
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

  it.each([
    [200, "OK"],
    [404, "Not Found"],
    [502, "Bad Gateway"],
    [503, "Service Unavailable"],
  ] as const)(
    "accepts an HTML page with status %i, whose heading is its title",
    async (status, title) => {
      expect(await readFaulty({ phase, kind: "html", status })).toEqual([
        status,
        expect.stringContaining(`<h1>${status} ${title}</h1>`),
      ]);
    },
  );
});
