/** The HTTP surface around the operations: keys, paths, methods, bodies, the document. */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { operations } from "@loyalty-cards/openapi/operations";
import { describe, expect, it } from "vitest";
import { createMockService } from "../src/index.ts";
import { openShop, signUp, template } from "./shop.ts";

const requests = Object.values(operations).map(({ method, path, hasBody }) => ({
  method,
  path: `/api/v1${path.replace("{templateId}", template.id).replace("{id}", "card_1")}`,
  hasBody,
}));

describe.each(requests)("$method $path", ({ method, path, hasBody }) => {
  const init = hasBody ? { body: { ...signUp(), marketing: true } } : {};

  it.each([null, "wrong", ""])("responds 401 to the key %j", async (key) => {
    const response = await openShop().call(method, path, { key, ...init });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });

  it("accepts both kinds of API key", async () => {
    const { service, call } = openShop();
    for (const key of [service.apiKeys.website, service.apiKeys.full]) {
      expect((await call(method, path, { key, ...init })).status).not.toBe(401);
    }
  });

  if (path.includes("card_1")) {
    it("responds 404 for an unknown card", async () => {
      expect((await openShop().call(method, path, init)).status).toBe(404);
    });
  }

  if (hasBody) {
    it("responds 400 to invalid JSON, 415 to another media type, 413 to more than 1 MiB", async () => {
      const { call } = openShop();
      for (const body of ["{", "", '{"customer":'])
        expect((await call(method, path, { body })).status).toBe(400);
      const form = { body: "a=1", headers: { "content-type": "application/x-www-form-urlencoded" } };
      expect((await call(method, path, form)).status).toBe(415);
      expect((await call(method, path, { body: `"${"x".repeat(1024 * 1024)}"` })).status).toBe(413);
    });
  }

  it("names the allowed methods", async () => {
    const response = await openShop().call("PATCH", path);
    expect([response.status, response.headers.get("allow")?.includes(method)]).toEqual([405, true]);
  });
});

it("accepts a media type with a charset, and rejects a body that is not UTF-8", async () => {
  const { service, call } = openShop();
  const path = `/api/v1/templates/${template.id}/passes`;
  const headers = { "content-type": "application/json; charset=utf-8" };
  expect((await call("POST", path, { body: signUp(), headers })).status).toBe(201);
  const response = await service.fetch(
    new Request(service.baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    }),
  );
  expect(response.status).toBe(400);
});

it("responds 404 to an unknown path, and lists the known ones", async () => {
  const { call } = openShop();
  for (const path of [
    "/api/v1/cards/1",
    "/api/v1/passes",
    "/api/v1/passes/",
    "/api/v2/passes/card_1",
    "/api/v1/passes/%E0%A4%A",
  ]) {
    const { status, headers, body } = await call("GET", path);
    expect([status, headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    expect(body.detail).toContain("GET /api/v1/passes/*");
  }
});

it("serves the OpenAPI document with its own base URL", async () => {
  const { service, call } = openShop();
  const { body } = await call("GET", "/api/docs/json", { key: null });
  expect(body.servers).toMatchObject([{ url: `${service.baseUrl}/api/v1` }]);
  expect({ ...body, servers: openapi.servers }).toEqual(openapi);
});

it("handles requests below the path of its base URL", async () => {
  const service = createMockService({ baseUrl: "https://shop.test/loyalty/" });
  expect(service.baseUrl).toBe("https://shop.test/loyalty");
  expect((await service.fetch(new Request("https://shop.test/loyalty/_mock/health"))).status).toBe(200);
});

it("names HEAD wherever GET is allowed", async () => {
  const { call } = openShop();
  const allowed = async (path: string) => (await call("OPTIONS", path)).headers.get("allow");
  expect(
    await Promise.all(["/api/v1/passes/card_1/operations", "/api/docs/json", "/_mock/health"].map(allowed)),
  ).toEqual(["GET, HEAD", "GET, HEAD", "GET, HEAD"]);
  expect(await allowed("/api/v1/passes/card_1/consent")).toBe("GET, PUT, HEAD");
  expect(await allowed(`/api/v1/templates/${template.id}/passes`)).toBe("POST");
});

it("responds 404 to a path with a trailing slash, and says to remove it", async () => {
  const { call, issue } = openShop();
  const { body: card } = await issue();
  for (const path of [
    `/api/v1/passes/${card.id}/`,
    `/api/v1/passes/${card.id}/operations/`,
    "/_mock/health/",
  ]) {
    const { status, headers, body } = await call("GET", path);
    expect([status, headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    expect(body.detail).toBe(`There is no GET ${path}. Leave out the slash at the end of the path.`);
  }
  const issued = await call("POST", `/api/v1/templates/${template.id}/passes/`, { body: signUp() });
  expect([issued.status, issued.body.detail]).toEqual([404, expect.stringContaining("Leave out the slash")]);
});

it("responds to HEAD as to GET, without the body", async () => {
  const { service, issue } = openShop();
  const { body } = await issue();
  const headers = { authorization: `Bearer ${service.apiKeys.website}` };
  const response = await service.fetch(
    new Request(`${service.baseUrl}/api/v1/passes/${body.id}`, { method: "HEAD", headers }),
  );
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

it("resets to its seed with POST /_mock/reset", async () => {
  const { call, issue } = openShop();
  const { body } = await issue();
  expect((await call("POST", "/_mock/reset", { key: null })).status).toBe(204);
  expect((await call("GET", `/api/v1/passes/${body.id}`)).status).toBe(404);
  expect((await issue()).status).toBe(201);
});

it.each([
  [
    "fieldValues",
    (text: string) =>
      `{"fieldValues":{"firstName":${text}},"customer":{"consents":{"privacy":{"version":"1"}}}}`,
  ],
  [
    "customer",
    (text: string) =>
      `{"fieldValues":{"firstName":"A"},"customer":{"consents":{"privacy":{"version":"1"}},"x":${text}}}`,
  ],
  ["the body", (text: string) => text],
])("responds 400 to a body that is nested deeper than 64 levels in %s", async (_where, bodyWith) => {
  const { call } = openShop();
  for (const text of ["[".repeat(100_000) + "]".repeat(100_000), `${'{"a":'.repeat(65)}1${"}".repeat(65)}`]) {
    const { status, body } = await call("POST", `/api/v1/templates/${template.id}/passes`, {
      body: bodyWith(text),
    });
    expect([status, body.detail]).toEqual([400, "The body is nested deeper than 64 levels."]);
  }
});

it("responds 500 when a response cannot be serialized, and continues", async () => {
  const { service, call } = openShop();
  const fields = [{ key: "a", type: "text" as const, label: 1n as never }];
  service.templates.create({ name: "Strange", fields });
  expect((await call("GET", "/_mock/templates", { key: null })).status).toBe(500);
  expect((await call("GET", "/_mock/health", { key: null })).status).toBe(200);
});
