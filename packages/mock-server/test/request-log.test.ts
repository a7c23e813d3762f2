/** The request log: what an app sent, why a request failed, and nothing that the request contained. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createMockService } from "../src/index.ts";
import { openControlledShop, signUp, template } from "./shop.ts";

const passes = `/api/v1/templates/${template.id}/passes`;

it("has method, path, status, duration and card of each request, newest first", async () => {
  const { issue, call, get } = await openControlledShop();
  const { id } = (await issue()).body;
  await call("GET", `/api/v1/passes/${id}/operations?limit=3`);
  const { items, total } = await get("/_mock/requests");
  expect(total).toBe(2);
  const common = {
    id: expect.any(String),
    at: "2026-03-01T12:00:00.000Z",
    status: 200,
    durationMs: expect.any(Number),
    cardId: id,
  };
  expect(items).toEqual([
    { ...common, method: "GET", path: `/api/v1/passes/${id}/operations` },
    { ...common, method: "POST", path: passes, status: 201 },
  ]);
  expect(new Set(items.map((item: { id: string }) => item.id)).size).toBe(2);
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
  const { items } = await get("/_mock/requests");
  expect(items).toMatchObject([{ status, reason }]);
  expect(JSON.stringify(items)).not.toContain("secret");
});

it("distinguishes missing and unknown keys, cards and paths, and has neither the key nor the query", async () => {
  const { call, get } = await openControlledShop();
  await call("GET", "/api/v1/passes/card_1?phone=600100200", { key: "secret_key" });
  await call("GET", "/api/v1/passes/card_1", { key: null });
  await call("GET", "/api/v1/passes/card_1");
  await call("GET", "/api/v1/pases/card_1");
  const { items } = await get("/_mock/requests");
  expect(items).toMatchObject([
    { status: 404, path: "/api/v1/pases/card_1", reason: "There is no GET /api/v1/pases/card_1" },
    { status: 404, reason: "There is no card with this id" },
    { status: 401, reason: "no API key" },
    { status: 401, reason: "unknown key" },
  ]);
  expect(JSON.stringify(items)).not.toMatch(/secret_key|600100200/);
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
  const [item] = (await get("/_mock/requests")).items;
  expect(item).toMatchObject(expected);
  expect(["status" in item, "cardId" in item]).toEqual(["status" in expected, isIssued]);
});

it("stores the newest 2 000 requests, until a reset", async () => {
  const { service, call, get } = await openControlledShop();
  for (let count = 0; count < 2_001; count++) await call("GET", `/api/v1/passes/card_${count}`);
  const { items, total } = await get("/_mock/requests?limit=100&offset=1900");
  expect([total, items.length, items.at(-1).path]).toEqual([2_000, 100, "/api/v1/passes/card_1"]);
  service.reset();
  expect((await get("/_mock/requests")).total).toBe(0);
});

it("marks a replay, and finds requests by their result, and by method, path, status, reason and card", async () => {
  const { issue, get } = await openControlledShop();
  const { id } = (await issue(signUp(), { "idempotency-key": "a" })).body;
  await issue({ customer: {} });
  await issue(signUp(), { "idempotency-key": "a" });
  const [replay, , first] = (await get("/_mock/requests")).items;
  expect(replay).toMatchObject({ status: 201, reason: "replay", cardId: id });
  expect(first).not.toHaveProperty("reason");
  const find = async (query: string) =>
    (await get(`/_mock/requests?${query}`)).items.map(({ status }: { status: number }) => status);
  expect(await find("result=failed")).toEqual([422]);
  expect(await find("result=succeeded")).toEqual([201, 201]);
  for (const words of ["Customer.Consents", "422"]) expect(await find(`query=${words}`)).toEqual([422]);
  expect(await find("query=replay")).toEqual([201]);
  expect(await find(`query=${id}&result=succeeded`)).toEqual([201, 201]);
  expect(await find("query=POST%20/api")).toHaveLength(3);
  expect(await get("/_mock/requests?result=other")).toMatchObject({ status: 400 });
});

it("sends a server-sent event for each request to the API, and none for the control API", async () => {
  const service = createMockService();
  const { body } = await service.fetch(new Request(`${service.baseUrl}/_mock/events`));
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain("hello");
  await service.fetch(new Request(`${service.baseUrl}/_mock/requests`));
  await service.fetch(new Request(`${service.baseUrl}/api/v1/passes/card_1`));
  await nextTurn();
  expect((await reader?.read())?.value).toMatch(/^event: request\ndata: \{"type":"request","id":"req_/);
  await reader?.cancel();
});
