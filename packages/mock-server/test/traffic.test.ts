/** The traffic: requests with what they sent and got, their warnings, and deliveries, in one list; and the version of what is visible. */
import { describe, expect, it } from "vitest";
import { openControlledShop, receiver, signUp, template } from "./shop.ts";

const issuePath = `/api/v1/templates/${template.id}/passes`;

describe("a request in the traffic", () => {
  it("has what it sent and got, its key's name, idempotency key and card, newest first", async () => {
    const { issue, call, get } = await openControlledShop();
    const sent = signUp({ phone: "+48600100200" });
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
    };
    expect(items).toEqual([
      {
        ...common,
        operation: "listOperations",
        method: "GET",
        path: `/api/v1/passes/${card.id}/operations?limit=3`,
        status: 200,
        responseBody: '{"items":[]}',
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
      },
    ]);
    expect(items[0].id > items[1].id).toBe(true);
  });

  it.each([
    ["a missing member", { customer: {} }, 422, "customer.consents is missing"],
    ["an invalid phone", signUp({ phone: "secret" }), 422, "customer.phone: The phone number is not valid"],
    ["a missing field", signUp({}, {}), 422, 'fieldValues.firstName: Please fill in "First name"'],
    [
      "another type",
      signUp({}, { firstName: ["secret"] }),
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
    await call("POST", issuePath, { body: signUp(), key: "secret_key" });
    await call("GET", "/api/v1/passes/card_1", { key: null });
    await call("GET", "/api/v1/passes/card_1");
    await call("GET", "/api/v1/pases/card_1");
    await issue();
    const { items } = await get("/_mock/traffic?problems=true");
    expect(items).toMatchObject([
      { status: 404, path: "/api/v1/pases/card_1", reason: "There is no GET /api/v1/pases/card_1" },
      { status: 404, reason: "There is no card with this id" },
      { status: 401, reason: "no API key" },
      { status: 401, reason: "unknown key", requestBody: JSON.stringify(signUp()) },
    ]);
    const all = JSON.stringify(await get("/_mock/traffic"));
    expect(all).not.toMatch(/secret_key|mock_website_key/);
  });

  const injected = "injected fault";
  it.each([
    [{ kind: "status", phase: "before", status: 503 }, { status: 503, reason: injected }, false],
    [{ kind: "html", phase: "before" }, { status: 502, reason: injected }, false],
    [{ kind: "status", phase: "after-commit", status: 500 }, { status: 500, reason: injected }, true],
    [{ kind: "destroy", phase: "after-commit" }, { reason: `${injected}: destroy` }, true],
    [{ kind: "latency", phase: "before", delayMs: 1 }, { status: 201, reason: `${injected}: latency` }, true],
  ] as const)("names the injected fault of %j", async (fault, expected, isIssued) => {
    const { service, issue, get } = await openControlledShop();
    service.faults.add(fault);
    await issue().catch(() => {});
    const [item] = (await get("/_mock/traffic")).items;
    expect(item).toMatchObject({ ...expected, requestBody: JSON.stringify(signUp()) });
    const members = ["status" in item, "responseBody" in item, "cardId" in item];
    expect(members).toEqual(["status" in expected, "status" in expected, isIssued]);
  });

  it("has its warnings as its own lines, and counts as a problem", async () => {
    const { issue, get } = await openControlledShop();
    const key = { "idempotency-key": "user-1" };
    await issue(signUp({ emial: "anna@example.com" }), key);
    await issue(signUp(), key);
    await issue(signUp(), { "idempotency-key": "user-2" });
    const { items, problems } = await get("/_mock/traffic");
    expect(problems).toBe(2);
    expect(items.map(({ warnings }: { warnings: unknown[] }) => warnings)).toMatchObject([
      [],
      [{ type: "replay-with-other-content" }],
      [
        {
          type: "unknown-members",
          message: 'customer has members that the service ignores: "emial" (did you mean "email"?).',
          fields: ["emial"],
        },
      ],
    ]);
    expect(items[1].reason).toBe("replay");
  });

  it("has the first 64 KiB of a body", async () => {
    const { issue, get } = await openControlledShop();
    await issue(signUp({}, { firstName: "x".repeat(100_000) }));
    const [{ requestBody, responseBody }] = (await get("/_mock/traffic")).items;
    expect([requestBody.length, responseBody.length]).toEqual([65_536, 65_536]);
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

it("lists deliveries with each attempt's response between the requests, in the order of creation", async () => {
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
    total: 3,
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
      { operation: "issueCard" },
    ],
  });
  await service.clock.advance("1m");
  const delivered = await get("/_mock/traffic");
  expect(delivered).toMatchObject({ problems: 0, items: [{}, { state: "delivered" }, {}] });
  expect(delivered.items[1].attempts).toHaveLength(2);
});

it("is searched by kind, problems and words", async () => {
  const { service, issue, get } = await openControlledShop({
    deliver: () => new Response(null, { status: 401 }),
  });
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["balance.changed"] });
  const { id } = (await issue(signUp({ name: "Anna Nowak" }))).body;
  await issue({ customer: {} });
  service.cards.purchase(id, { points: 5 });
  await service.idle();
  const find = async (query: string) =>
    (await get(`/_mock/traffic?${query}`)).items.map(
      ({ kind, status }: { kind: string; status?: number }) => status ?? kind,
    );
  expect(await find("")).toEqual(["delivery", 422, 201]);
  expect(await find("kind=request")).toEqual([422, 201]);
  expect(await find("kind=delivery")).toEqual(["delivery"]);
  expect(await find("problems=true")).toEqual(["delivery", 422]);
  expect(await find("limit=1")).toEqual(["delivery"]);
  expect(await find(`query=${id}`)).toEqual(["delivery", 201]);
  expect(await find("query=customer.Consents")).toEqual([422]);
  expect(await find("query=issuecard")).toEqual([422, 201]);
  expect(await find("query=nowak")).toEqual([201]);
  // A key of a request can contain each number.
  expect(await find("query=401&kind=delivery")).toEqual(["delivery"]);
  expect(await get("/_mock/traffic?query=422&kind=request&problems=true&limit=1")).toMatchObject({
    total: 1,
    problems: 1,
  });
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
