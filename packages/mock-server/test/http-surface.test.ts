/**
 * The HTTP surface around the operations: keys, paths, methods, bodies, and the document that it
 * follows.
 */

import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { operations } from "@loyalty-cards/openapi/operations";
import {
  openMockShop,
  receiveEveryEvent,
  shopTemplate,
  toSignUp,
} from "@loyalty-cards/testing/mock-shop";
import { expectDescribedEvent, expectDescribedResponse } from "@loyalty-cards/testing/schemas";
import { describe, expect, it } from "vitest";
import { createMockService } from "../src/index.ts";

const issuePath = `/api/v1/templates/${shopTemplate.id}/passes`;
const requests = Object.values(operations).map(({ method, path, hasBody }) => ({
  method,
  path: `/api/v1${path.replace("{templateId}", shopTemplate.id).replace("{id}", "card_1")}`,
  hasBody,
}));

describe.each(requests)("$method $path", ({ method, path, hasBody }) => {
  const init = hasBody ? { body: { ...toSignUp(), marketing: true } } : {};

  it("accepts both kinds of API key, and responds 401 to others", async () => {
    const { service, call } = openMockShop();
    for (const key of [null, "wrong", ""]) {
      const { status, headers } = await call(method, path, { key, ...init });
      expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    }
    const known = path.includes("card_1") ? 404 : 201; // there is no such card
    const { website, full } = service.apiKeys;
    for (const key of [website, full])
      expect((await call(method, path, { key, ...init })).status).toBe(known);
  });

  it("names the allowed methods", async () => {
    const response = await openMockShop().call("PATCH", path);
    expect([response.status, response.headers.get("allow")?.includes(method)]).toEqual([405, true]);
  });

  if (!hasBody) return;
  it("responds 400 to invalid JSON, 415 to another media type, 413 to more than 1 MiB", async () => {
    const { call } = openMockShop();
    const send = async (body: string, headers = {}) =>
      (await call(method, path, { body, headers })).status;
    for (const body of ["{", "", '{"customer":']) expect(await send(body)).toBe(400);
    expect(await send("a=1", { "content-type": "application/x-www-form-urlencoded" })).toBe(415);
    expect(await send(`"${"x".repeat(1024 * 1024)}"`)).toBe(413);
  });
});

it("accepts a media type with a charset, and rejects a body that is not UTF-8", async () => {
  const { service, issue } = openMockShop();
  expect(
    (await issue(toSignUp(), { "content-type": "application/json; charset=utf-8" })).status,
  ).toBe(201);
  const headers = {
    authorization: `Bearer ${service.apiKeys.website}`,
    "content-type": "application/json",
  };
  const init = { method: "POST", headers, body: new Uint8Array([0x22, 0xff, 0x22]) };
  expect((await service.fetch(new Request(service.baseUrl + issuePath, init))).status).toBe(400);
});

it("responds 404 to an unknown path, and lists the known ones; also with a trailing slash", async () => {
  const { call, issue } = openMockShop();
  const { body: card } = await issue();
  const known = /There are (\w+ \/api\/v1\/[\w/*-]+(, |\.$)){5}$/; // not the pages
  for (const [path, detail] of [
    ["/api/v1/cards/1", known],
    ["/api/v1/passes", known],
    ["/api/v1/passes/", known],
    ["/api/v2/passes/card_1", known],
    [`/api/v1/passes/${card.id}/`, known],
    [`/api/v1/passes/${card.id}/operations/`, known],
    ["/_mock/health/", /There are .*GET \/_mock\/health/],
  ] as const) {
    const { status, headers, body } = await call("GET", path);
    expect([status, headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    expect(body.detail).toMatch(detail);
  }
  const issued = await call("POST", `${issuePath}/`, { body: toSignUp() });
  expect([issued.status, issued.body.detail]).toEqual([
    404,
    expect.stringMatching(/There are .*POST \/api\/v1\/templates\/\*\/passes/),
  ]);
});

it("responds 404 to an id that cannot be decoded", async () => {
  expect((await openMockShop().call("GET", "/api/v1/passes/%E0%A4%A")).status).toBe(404);
});

it("serves the OpenAPI document with its own base URL", async () => {
  const { service, call } = openMockShop();
  const { body } = await call("GET", "/api/docs/json", { key: null });
  expect(body.servers).toMatchObject([{ url: `${service.baseUrl}/api/v1` }]);
  expect({ ...body, servers: openapi.servers }).toEqual(openapi);
});

it("handles requests below the path of its base URL", async () => {
  const service = createMockService({ baseUrl: "https://shop.test/loyalty/" });
  expect(service.baseUrl).toBe("https://shop.test/loyalty");
  expect((await service.fetch(new Request("https://shop.test/loyalty/_mock/health"))).status).toBe(
    200,
  );
});

it("responds to HEAD as to GET, without the body, and names it wherever GET is allowed", async () => {
  const { service, call, issue } = openMockShop();
  const path = `/api/v1/passes/${(await issue()).body.id}`;
  const headers = { authorization: `Bearer ${service.apiKeys.website}` };
  const response = await service.fetch(
    new Request(service.baseUrl + path, { method: "HEAD", headers }),
  );
  expect([response.status, await response.text()]).toEqual([200, ""]);
  const readable = ["/api/v1/passes/card_1/operations", "/api/docs/json", "/_mock/health"];
  const paths = [...readable, "/api/v1/passes/card_1/consent", issuePath];
  const allowed = async (each: string) => (await call("OPTIONS", each)).headers.get("allow");
  const expected = [...readable.map(() => "GET, HEAD"), "GET, PUT, HEAD", "POST"];
  expect(await Promise.all(paths.map(allowed))).toEqual(expected);
});

it.each([
  ["fieldValues", '{"fieldValues":{"firstName":@}}'],
  ["customer", '{"customer":{"x":@}}'],
  ["the body", "@"],
])("responds 400 to a body that is nested deeper than 64 levels in %s", async (_where, body) => {
  const { issue } = openMockShop();
  for (const text of [
    "[".repeat(100_000) + "]".repeat(100_000),
    `${'{"a":'.repeat(65)}1${"}".repeat(65)}`,
  ]) {
    const refused = await issue(body.replace("@", text));
    const detail = "The body is nested deeper than 64 levels.";
    expect([refused.status, refused.body.detail]).toEqual([400, detail]);
  }
});

it("emits events of every type as the document describes", async () => {
  const types = (await receiveEveryEvent()).map(({ type }) => type); // validated when they are received
  const missing = Object.keys(openapi.webhooks).filter((type) => !types.includes(type));
  expect(missing, "add it to receiveEveryEvent in testing/mock-shop.ts").toEqual([]);
});

it("reports statuses, shapes and event types that the document does not describe", async () => {
  const respond = (status: number) =>
    expectDescribedResponse("/api/v1/passes/card_1", "GET", Response.json({}, { status }));
  await expect(respond(202)).rejects.toThrow("GET /passes/{id} must not respond 202");
  await expect(respond(200)).rejects.toThrow(/Card describes: .*'id'/);
  expect(() => expectDescribedEvent("ping", { id: "evt_1", type: "pong" })).toThrow(
    /PingEvent describes/,
  );
  expect(() => expectDescribedEvent("pong", {})).toThrow("the document has no pong");
});
