/**
 * The traffic: requests with what they sent and got, their warnings, and deliveries, in one list;
 * and the version of what is visible.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { receiver, shopTemplate, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";
import { openControlledShop } from "./shop.ts";

const issuePath = `/api/v1/templates/${shopTemplate.id}/passes`;

describe("a request in the traffic", () => {
  it("has what it sent and got, its key's name, idempotency key and card, newest first", async () => {
    const { issue, call, get } = await openControlledShop();
    const sent = toSignUp({ phone: "+48600100200" });
    const { body: card } = await issue(sent, { "idempotency-key": "user-1" });
    await call("GET", `/api/v1/passes/${card.id}/operations?limit=3`);
    const { items, total, problems } = await get("/_mock/traffic");
    expect([total, problems]).toEqual([2, 0]);
    const common = {
      kind: "request",
      id: expect.stringMatching(/^req_/),
      at: "2026-03-01T12:00:00.000Z",
      apiKey: "Website key",
      durationMs: expect.any(Number),
      cardId: card.id,
      warnings: [],
      position: expect.stringMatching(/^[0-9a-z]{15}$/),
      holder: "Anna",
    };
    expect(items).toEqual([
      {
        ...common,
        operation: "listOperations",
        method: "GET",
        path: `/api/v1/passes/${card.id}/operations?limit=3`,
        status: 200,
        responseBody: '{"items":[]}',
        phrase: "0 operations",
      },
      {
        ...common,
        operation: "issueCard",
        method: "POST",
        path: issuePath,
        idempotencyKey: "user-1",
        requestBody: JSON.stringify(sent),
        status: 201,
        responseBody: JSON.stringify(card),
        phrase: "new card",
      },
    ]);
    expect(items[0].id > items[1].id).toBe(true);
  });

  it.each([
    ["a missing member", { customer: {} }, 422, "customer.consents is missing"],
    [
      "an invalid phone",
      toSignUp({ phone: "secret" }),
      422,
      "customer.phone: The phone number is not valid",
    ],
    [
      "two errors",
      toSignUp({ phone: "secret", email: "secret" }),
      422,
      "customer.phone: The phone number is not valid, +1 more",
    ],
    ["a missing field", toSignUp({}, {}), 422, "fieldValues.firstName: First name is required"],
    [
      "another type",
      toSignUp({}, { firstName: ["secret"] }),
      422,
      "fieldValues.firstName must be of type string or number",
    ],
    ["a body that is not JSON", "{secret", 400, "The body is not JSON"],
  ])("names the reason of %s, without its values", async (_name, body, status, reason) => {
    const { issue, get } = await openControlledShop();
    await issue(body);
    const { items, problems } = await get("/_mock/traffic");
    expect(items).toMatchObject([
      { status, reason, requestBody: typeof body === "string" ? body : JSON.stringify(body) },
    ]);
    expect(problems).toBe(1);
  });

  it("distinguishes missing and unknown keys, cards and paths, and never has the API key", async () => {
    const { call, issue, get } = await openControlledShop();
    await call("POST", issuePath, { body: toSignUp(), key: "secret_key" });
    await call("GET", "/api/v1/passes/card_1", { key: null });
    await call("GET", "/api/v1/passes/card_1");
    await call("GET", "/api/v1/pases/card_1");
    await call("GET", "/favicon.ico"); // by a browser that shows a response
    await issue();
    const { items } = await get("/_mock/traffic?problems=true");
    expect(items).toMatchObject([
      { status: 404, path: "/api/v1/pases/card_1", reason: "There is no GET /api/v1/pases/card_1" },
      { status: 404, reason: "There is no card with this id" },
      { status: 401, reason: "no API key" },
      { status: 401, reason: "unknown key", requestBody: JSON.stringify(toSignUp()) },
    ]);
    const all = JSON.stringify(await get("/_mock/traffic"));
    expect(all).not.toMatch(/secret_key|mock_website_key/);
  });

  const injected = "injected fault";
  it.each([
    [{ kind: "status", phase: "before", status: 503 }, { status: 503, reason: injected }, false],
    [{ kind: "html", phase: "before" }, { status: 502, reason: injected }, false],
    [
      { kind: "status", phase: "after-commit", status: 500 },
      { status: 500, reason: injected },
      true,
    ],
    [
      { kind: "destroy", phase: "after-commit" },
      { reason: injected, phrase: "response lost; the card exists" },
      true,
    ],
    [
      { kind: "latency", phase: "before", delayMs: 1 },
      { status: 201, phrase: "injected delay; new card" },
      true,
    ],
  ] as const)("names the injected fault of %j", async (fault, expected, isIssued) => {
    const { service, issue, get } = await openControlledShop();
    service.faults.add(fault);
    await issue().catch(() => {});
    const [item] = (await get("/_mock/traffic")).items;
    expect(item).toMatchObject({ ...expected, requestBody: JSON.stringify(toSignUp()) });
    const members = ["status" in item, "responseBody" in item, "cardId" in item];
    expect(members).toEqual(["status" in expected, "status" in expected, isIssued]);
  });

  it("says that the console sent it", async () => {
    const { issue, get } = await openControlledShop();
    for (const sender of ["console", "another"]) await issue(toSignUp(), { "x-sent-by": sender });
    const { items } = await get("/_mock/traffic");
    expect(items.map(({ sentBy }: { sentBy?: string }) => sentBy)).toEqual([undefined, "console"]);
  });

  it("is not a problem when doctor sent it, which expects to be refused", async () => {
    const { issue, get } = await openControlledShop();
    const agents = [
      "loyalty-cards/1.0.0 cli",
      "loyalty-cards/1.0.0 doctor",
      "loyalty-cards doctor",
    ];
    for (const agent of agents) await issue(toSignUp({ phone: "12" }), { "user-agent": agent });
    const { items, problems } = await get("/_mock/traffic");
    const senders = items.map(({ sentBy }: { sentBy?: string }) => sentBy);
    expect([senders, problems]).toEqual([["doctor", "doctor", undefined], 1]);
    expect((await get("/_mock/traffic?query=doctor")).total).toBe(2);
  });

  it("has its warnings as its own lines, and counts as a problem", async () => {
    const { issue, get } = await openControlledShop();
    const key = { "idempotency-key": "user-1" };
    await issue(toSignUp({ emial: "anna@example.com" }), key);
    await issue(toSignUp(), key);
    await issue(toSignUp(), { "idempotency-key": "user-2" });
    const { items, problems } = await get("/_mock/traffic");
    expect(problems).toBe(2);
    expect(items.map(({ warnings }: { warnings: unknown[] }) => warnings)).toMatchObject([
      [],
      [{ type: "replay-with-other-content" }],
      [
        {
          type: "unknown-members",
          message:
            'customer has members that the service ignores: "emial" (did you mean "email"?).',
          fields: ["emial"],
        },
      ],
    ]);
    expect(items[1].reason).toBe("replay");
  });

  it("has the first 64 KiB of a body", async () => {
    const { issue, get } = await openControlledShop();
    await issue(toSignUp({}, { firstName: "x".repeat(100_000) }));
    const [{ requestBody, responseBody }] = (await get("/_mock/traffic")).items;
    expect([requestBody.length, responseBody.length]).toEqual([65_536, 65_536]);
  });

  it("does not hold the rest of a body in memory", async () => {
    const { call } = await openControlledShop();
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const send = () => call("PUT", "/api/v1/passes/card_1/consent", { body: "x".repeat(1e6) });
    await send();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 50; count++) await send();
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6);
  });

  it("is stored with the newest 200, in no snapshot, until a reset", async () => {
    const { service, call, get } = await openControlledShop();
    for (let count = 0; count < 201; count++) await call("GET", `/api/v1/passes/card_${count}`);
    const { items, total } = await get("/_mock/traffic?limit=1000");
    expect([total, items.length, items.at(-1).path]).toEqual([200, 200, "/api/v1/passes/card_1"]);
    expect(JSON.stringify(service.snapshot())).not.toContain("card_1");
    service.reset();
    expect((await get("/_mock/traffic")).total).toBe(0);
  });
});

it("lists deliveries with each attempt's response between the requests, and a retry moves up with the time of its attempt", async () => {
  const inbox = receiver();
  inbox.responses.push(Promise.resolve(new Response("Error at handler", { status: 500 })));
  const { service, call, issue, get } = await openControlledShop({ deliver: inbox.deliver });
  const { id: endpointId } = inbox.subscribe(service, ["balance.changed"]);
  const { id } = (await issue()).body;
  service.cards.purchase(id, { points: 5 });
  await service.idle();
  await call("GET", `/api/v1/passes/${id}`);
  const failing = await get("/_mock/traffic");
  expect(failing).toMatchObject({
    total: 4,
    problems: 1,
    items: [
      { operation: "getCard" },
      {
        kind: "delivery",
        at: "2026-03-01T12:00:00.000Z",
        type: "balance.changed",
        endpointId,
        url: "https://shop.test/webhooks",
        cardId: id,
        state: "pending",
        attempts: [{ status: 500, responseBody: "Error at handler" }],
        nextAttemptAt: "2026-03-01T12:01:00.000Z",
      },
      { kind: "action", type: "purchase", change: 5, cardId: id },
      { operation: "issueCard" },
    ],
  });
  await service.clock.advance("1m");
  const delivered = await get("/_mock/traffic");
  expect(delivered).toMatchObject({
    problems: 0,
    items: [
      { state: "delivered", at: "2026-03-01T12:01:00.000Z", attempts: [{}, {}] },
      { operation: "getCard" },
      { kind: "action" },
      { operation: "issueCard" },
    ],
  });
  // After the newest entry of the first list there is only the retry.
  const { position } = failing.items[0];
  const after = await get(`/_mock/traffic?after=${position}`);
  const { id: causeId } = delivered.items[2]; // the purchase, which is older
  expect(after).toMatchObject({ total: 1, items: [{ state: "delivered", causeId }] });
});

it("has what the staff did as the cause of the webhooks above it, also of an expiry", async () => {
  const { service, issue, get } = await openControlledShop({ deliver: () => new Response() });
  service.webhooks.createEndpoint({
    url: "https://shop.test/",
    events: ["balance.changed", "tier.changed", "card.added", "card.removed"],
  });
  const { id } = (await issue(toSignUp({ name: "Anna Nowak" }))).body;
  const { id: purchaseId } = service.cards.purchase(id, { points: 1_250.5 });
  service.cards.redeem(id, { points: 50 });
  service.cards.expire(id, { points: 1_150, keepBalance: true });
  service.cards.expire(id, { points: 0.5 });
  service.cards.addToWallet(id, "apple");
  service.cards.removeFromWallet(id, "apple");
  service.cards.setStatus(id, "blocked");
  expect(() => service.cards.cancel(purchaseId)).toThrow(RangeError);
  const { items } = await get("/_mock/traffic?kind=action");
  const rows = items.map(({ type, phrase }: { type: string; phrase: string }) => [type, phrase]);
  expect(rows).toEqual([
    ["status", "blocked"],
    ["wallet", "removed from Apple Wallet"],
    ["wallet", "added to Apple Wallet"],
    ["expiry", "−0.5"],
    ["expiry", "1,150 points; they stay"],
    ["redemption", "−50"],
    ["purchase", "+1,250.5"],
  ]);
  await service.idle();
  const all = (await get("/_mock/traffic")).items;
  const getPosition = (wanted: string, ofKind = /./) =>
    all.find(
      ({ kind, phrase }: { kind: string; phrase: string }) =>
        phrase === wanted && ofKind.test(kind),
    ).position;
  expect(getPosition("+1,250.5 → 1,250.5") > getPosition("+1,250.5")).toBe(true);
  const added = "added to Apple Wallet";
  expect(getPosition(added, /delivery/) > getPosition(added, /action/)).toBe(true);
  expect(getPosition("Silver (before: Gold)") > getPosition("1,150 points; they stay")).toBe(true);
});

it("has the request or the action that caused a delivery, which its id finds too", async () => {
  const { service, issue, call, get, post } = await openControlledShop({
    deliver: () => new Response(),
  });
  const { id: endpointId } = service.webhooks.createEndpoint({
    url: "https://shop.test/",
    events: ["balance.changed", "tier.changed", "card.added", "consent.changed"],
  });
  const consents = { privacy: { version: "1" }, marketing: {} };
  const { id } = (await issue(toSignUp({ phone: "+48600100200", consents }))).body;
  service.cards.purchase(id, { points: 120 });
  await call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing: false } });
  service.cards.addToWallet(id, "apple");
  service.cards.expire(id, { points: 50, keepBalance: true });
  await post(`/_mock/webhooks/endpoints/${endpointId}/test`);
  await service.idle();
  const { items } = await get("/_mock/traffic");
  const deliveries = items.filter(({ kind }: { kind: string }) => kind === "delivery");
  type Caused = { type: string; causeId?: string; cause?: { name: string; at: string } };
  const causes = deliveries.map(({ type, causeId, cause }: Caused) => {
    const entry = items.find((item: { id: string }) => item.id === causeId);
    expect([cause?.at, cause?.name]).toEqual([entry?.at, entry?.operation ?? entry?.type]);
    return [type, cause?.name];
  });
  expect(causes.reverse()).toEqual([
    ["consent.changed", "issueCard"],
    ["balance.changed", "purchase"],
    ["tier.changed", "purchase"],
    ["consent.changed", "setConsent"],
    ["card.added", "wallet"],
    ["tier.changed", "expiry"],
    ["ping", undefined],
  ]);
  const { causeId } = deliveries.find(({ type }: { type: string }) => type === "balance.changed");
  const found = (await get(`/_mock/traffic?query=${causeId}`)).items;
  expect(found.map(({ type }: { type: string }) => type)).toEqual([
    "tier.changed",
    "balance.changed",
    "purchase",
  ]);
});

it("is found by the name on the card: its requests, actions and webhooks", async () => {
  const { service, issue, call, get } = await openControlledShop({
    deliver: () => new Response(),
  });
  service.webhooks.createEndpoint({
    url: "https://shop.test/",
    events: ["balance.changed", "consent.changed"],
  });
  for (const name of ["Anna Nowak", "Ben Carter"]) {
    const { id } = (await issue(toSignUp({ name }, { firstName: name }))).body;
    service.cards.purchase(id, { points: 5 });
    await call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing: true } });
  }
  await issue({ customer: {}, fieldValues: { name: "Anna Nowak" } });
  await service.idle();
  const { items } = await get("/_mock/traffic?query=anna+nowak");
  const found = items.map(({ kind, holder, phrase }: Record<string, string>) => [
    kind,
    holder,
    phrase,
  ]);
  expect(found).toHaveLength(6);
  expect(found).toEqual(
    expect.arrayContaining([
      ["request", "Anna Nowak", "customer.consents is missing"],
      ["delivery", "Anna Nowak", "marketing given"],
      ["request", "Anna Nowak", "marketing given"],
      ["delivery", "Anna Nowak", "+5 → 5"],
      ["action", "Anna Nowak", "+5"],
      ["request", "Anna Nowak", "new card"],
    ]),
  );
});

it("has the card of a consent, or else the customer when there are several cards", async () => {
  const { service, issue, call, get } = await openControlledShop({ deliver: () => new Response() });
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["consent.changed"] });
  const phone = "+48600100200";
  const { id, customerId } = (await issue(toSignUp({ phone }))).body;
  const give = (marketing: boolean) =>
    call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing } });
  await give(true);
  await issue(toSignUp({ phone }));
  await give(false);
  const { items } = await get("/_mock/traffic?kind=delivery");
  expect(items).toMatchObject([
    { customerId, phrase: "marketing withdrawn" },
    { customerId, cardId: id, phrase: "marketing given" },
  ]);
  expect(items[0]).not.toHaveProperty("cardId");
});

it("is searched by kind, problems and words", async () => {
  const { service, issue, get } = await openControlledShop({
    deliver: () => new Response("Signature mismatch", { status: 401 }),
  });
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["balance.changed"] });
  const { id } = (await issue(toSignUp({ name: "Anna Nówak" }))).body;
  await issue({ customer: {} });
  service.cards.purchase(id, { points: 5 });
  await service.idle();
  const find = async (query: string) =>
    (await get(`/_mock/traffic?${query}`)).items.map(
      ({ kind, status }: { kind: string; status?: number }) => status ?? kind,
    );
  expect(await find("")).toEqual(["delivery", "action", 422, 201]);
  expect(await find("kind=request")).toEqual([422, 201]);
  expect(await find("kind=delivery")).toEqual(["delivery"]);
  expect(await find("kind=action")).toEqual(["action"]);
  expect(await find("problems=true")).toEqual(["delivery", 422]);
  expect(await find("limit=1")).toEqual(["delivery"]);
  expect(await find(`query=${id}`)).toEqual(["delivery", "action", 201]);
  expect(await find("query=customer.Consents")).toEqual([422]);
  expect(await find("query=issuecard")).toEqual([422, 201]);
  expect(await find("query=nowak")).toEqual(["delivery", "action", 201]);
  // All words of the query, in any order: of the holder, of the row, of what the receiver said.
  expect(await find("query=%2B5+anna")).toEqual(["delivery", "action"]);
  expect(await find("query=++nowak+new++card")).toEqual([201]);
  expect(await find("query=nowak+missing")).toEqual([]);
  expect(await find("query=ANN%C3%81+signat%C3%BAre+401")).toEqual(["delivery"]);
  expect(await find("query=nowak+201")).toEqual([201]);
  expect(await find("query=401+422")).toEqual([]);
  // A status finds nothing else, although a key of a request can contain each number.
  await issue(toSignUp({}), { "idempotency-key": "user-401-503" });
  expect(await find("query=401")).toEqual(["delivery"]);
  expect(await find("query=503")).toEqual([]);
  expect(await find("query=401-503")).toEqual([201]);
  expect(await get("/_mock/traffic?query=422&kind=request&problems=true&limit=1")).toMatchObject({
    total: 1,
    problems: 1,
  });
});

it("is searched in what its row shows, in ids from their start, and else quotes where it found a word", async () => {
  const { service, issue, call, get } = await openControlledShop({
    deliver: () => new Response("Signature mismatch", { status: 401 }),
  });
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["consent.changed"] });
  const sent = toSignUp({ name: "Anna Nówak", phone: "+48600100200" });
  const { id, customerId } = (await issue(sent, { "idempotency-key": "user-7" })).body;
  await call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing: true } });
  await issue({ customer: {} });
  await service.idle();
  const find = async (query: string) =>
    (await get(`/_mock/traffic?query=${encodeURIComponent(query)}`)).items.map(
      ({ type, operation, status, found }: Record<string, never>) =>
        `${type ?? `${operation} ${status}`}${found ? `: ${Object.values(found).join("|")}` : ""}`,
    );
  const all = ["issueCard 422", "consent.changed", "setConsent 200", "issueCard 201"];
  expect(await find("")).toEqual(all);
  const body = JSON.stringify(sent);
  const [before = "", after = ""] = body.split("consent");
  // "setConsent" is two words; the rows that do not show the word are last, and quote it.
  expect(await find("Consent")).toEqual([
    ...all.slice(0, 3),
    `issueCard 201: body|…${before.slice(-12)}|consent|${after.slice(0, 100)}`,
  ]);
  expect(await find("issuecard")).toEqual(["issueCard 422", "issueCard 201"]);
  expect(await find("nowak signature")).toEqual(["consent.changed: name|Anna |Nówak|"]);
  expect(await find("600100")).toEqual([
    "consent.changed: phone|+48|600100|200",
    "setConsent 200: phone|+48|600100|200",
    "issueCard 201: phone|+48|600100|200",
  ]);
  expect(await find("r-7")).toEqual(["issueCard 201: idempotency key|use|r-7|"]);
  const ofCard = all.slice(1);
  for (const start of [id, id.slice(0, 9)]) expect(await find(start)).toEqual(ofCard);
  expect((await find(customerId))[0]).toBe("consent.changed");
  expect((await find(id.slice(5))).every((row: string) => row.includes(": "))).toBe(true);
  expect((await find("card")).slice(0, 2)).toEqual(["issueCard 422", "issueCard 201"]);
});

it("counts a version up with each change, and not when nothing changed", async () => {
  const { service, issue, get, post } = await openControlledShop();
  const version = async () => (await get("/_mock/clock")).version;
  const seen = [await version()];
  expect(await version()).toBe(seen[0]);
  for (const change of [
    () => issue(),
    () => issue({}),
    () => service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] }),
    () => service.clock.advance("1m"),
    () => post("/_mock/faults", { kind: "duplicate" }),
    () => service.reset(),
  ]) {
    await change();
    seen.push(await version());
  }
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
});
