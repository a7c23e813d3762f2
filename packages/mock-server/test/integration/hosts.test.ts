/** One suite through every door: the service in process, behind MSW, and behind a port. */
import { connect } from "node:net";
import { setupServer } from "msw/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { failOnUnhandled, mockHandlers } from "../../src/hosts/msw.ts";
import { startMockServer } from "../../src/hosts/node.ts";
import { createMockService, type MockService } from "../../src/index.ts";
import { caller, signUp, template } from "../shop.ts";

interface OpenDoor {
  service: MockService;
  fetch: (request: Request) => Promise<Response>;
}

const doors: Record<string, () => OpenDoor | Promise<OpenDoor>> = {
  fetch: () => {
    const service = createMockService({ templates: [template], log: () => {} });
    return { service, fetch: service.fetch };
  },
  msw: () => {
    const service = createMockService({ templates: [template], log: () => {} });
    const server = setupServer(...mockHandlers(service));
    server.listen(failOnUnhandled);
    onTestFinished(() => server.close());
    return { service, fetch: (request) => fetch(request) };
  },
  node: async () => {
    const { service, close } = await startMockServer({ templates: [template], log: () => {} });
    onTestFinished(close);
    return { service, fetch: (request) => fetch(request) };
  },
};

describe.each(Object.entries(doors))("through %s", (_name, open) => {
  async function visit() {
    const { service, fetch } = await open();
    const call = caller(service.baseUrl, fetch, service.apiKeys.website);
    return { service, call };
  }
  const issuePath = `/api/v1/templates/${template.id}/passes`;

  it("a card is issued, found, filled, read and consented to", async () => {
    const { service, call } = await visit();
    const issued = await call("POST", issuePath, { body: signUp({ name: "Łucja 🎉" }) });
    expect(issued.status).toBe(201);
    const { id } = issued.body;
    expect(id).toBe(service.cards.get(id).id);
    service.cards.purchase(id, { points: 12 });
    expect((await call("GET", `/api/v1/passes/${id}`)).body).toMatchObject({
      loyaltyBalance: 12,
      loyaltyTier: "Silver",
    });
    expect((await call("GET", `/api/v1/passes/${id}/operations?limit=1`)).body.items).toHaveLength(1);
    const change = { body: { marketing: true } };
    expect((await call("PUT", `/api/v1/passes/${id}/consent`, change)).body).toMatchObject({
      marketingConsent: true,
      customer: { name: "Łucja 🎉" },
    });
    expect((await call("GET", `/api/v1/passes/${id}/consent`)).body.marketingConsent).toBe(true);
  });

  it("an idempotency key runs once, also when 30 calls come at the same time", async () => {
    const { call } = await visit();
    const options = { body: signUp(), headers: { "idempotency-key": "user-1" } };
    const answers = await Promise.all(Array.from({ length: 30 }, () => call("POST", issuePath, options)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
  });

  it.each([
    ["no key", 401, "GET", "/api/v1/passes/card_1", { key: null }],
    ["an unknown card", 404, "GET", "/api/v1/passes/card_1", {}],
    ["an unknown path", 404, "GET", "/api/v1/nothing", {}],
    ["another method", 405, "DELETE", "/api/v1/passes/card_1", {}],
    ["broken JSON", 400, "POST", issuePath, { body: "{" }],
    ["a form", 415, "POST", issuePath, { body: "a=1", headers: { "content-type": "text/plain" } }],
    ["a missing field", 422, "POST", issuePath, { body: signUp({}, {}) }],
    ["a large body", 413, "POST", issuePath, { body: `"${"x".repeat(1024 * 1024)}"` }],
  ])("%s is %i", async (_fault, status, method, path, options) => {
    const { call } = await visit();
    const answer = await call(method, path, options);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
  });

  it.each(["reset", "destroy", "truncate", "malformed", "hang"] as const)(
    "a caller who meets %s after the commit has no card, and gets it when asking again",
    async (kind) => {
      const { service, fetch } = await open();
      service.faults.add({ phase: "after-commit", kind, times: 1 });
      const issue = async (timeoutMs: number) => {
        const request = new Request(service.baseUrl + issuePath, {
          method: "POST",
          headers: {
            authorization: `Bearer ${service.apiKeys.website}`,
            "content-type": "application/json",
            "idempotency-key": "user-1",
          },
          body: JSON.stringify(signUp()),
          signal: AbortSignal.timeout(timeoutMs),
        });
        return (await (await fetch(request)).json()) as { id: string };
      };
      await expect(issue(kind === "hang" ? 200 : 5_000)).rejects.toThrow();
      const { id } = await issue(5_000);
      expect((service.snapshot().state as { cards: Map<string, unknown> }).cards.size).toBe(1);
      expect(service.cards.get(id).loyaltyBalance).toBe(0);
    },
  );

  it("the control API is there", async () => {
    const { service, call } = await visit();
    const { id } = (await call("POST", issuePath, { body: signUp() })).body;
    const bought = await call("POST", `/_mock/cards/${id}/purchase`, { key: null, body: { points: 12 } });
    expect(bought).toMatchObject({ status: 201, body: { balance: 12 } });
    expect(service.cards.get(id).loyaltyTier).toBe("Silver");
  });

  it("a replay with other content is recorded, HEAD is among the methods, and a slash at the end is 404", async () => {
    const { service, call } = await visit();
    const headers = { "idempotency-key": "user-1" };
    const { id } = (await call("POST", issuePath, { body: signUp({ name: "Anna" }), headers })).body;
    const replayed = await call("POST", issuePath, { body: signUp({ name: "Piotr" }), headers });
    expect(replayed).toMatchObject({ status: 201, body: { id } });
    expect(service.warnings()).toMatchObject([{ templateId: template.id, cardId: id }]);
    expect((await call("DELETE", `/api/v1/passes/${id}`)).headers.get("allow")).toBe("GET, HEAD");
    expect((await call("GET", `/api/v1/passes/${id}/`)).body.detail).toContain("Leave out the slash");
  });

  it("the document is served", async () => {
    const { service, call } = await visit();
    const { body } = await call("GET", "/api/docs/json", { key: null });
    expect(body.servers[0].variables.base_url.default).toBe(service.baseUrl);
  });
});

describe("behind MSW", () => {
  it("an override of the user goes first, and other addresses are not ours", async () => {
    const { http, HttpResponse } = await import("msw");
    const service = createMockService();
    const server = setupServer(...mockHandlers(service));
    server.listen(failOnUnhandled);
    onTestFinished(() => server.close());
    server.use(http.get("*/api/v1/passes/:id", () => HttpResponse.json({ own: true }, { status: 503 })));
    expect((await fetch(`${service.baseUrl}/api/v1/passes/card_1`)).status).toBe(503);
    expect((await fetch(`${service.baseUrl}/_mock/health`)).status).toBe(200);
    // The two majors word it differently; a network that was asked would say ENOTFOUND.
    const refused = await fetch("https://elsewhere.test/").catch((error: Error) => error);
    expect(`${(refused as Error).name} ${(refused as { cause?: Error }).cause?.name}`).toContain(
      "InternalError",
    );
  });
});

describe("behind a port", () => {
  it("a body that was not read does not stand in the way of the next request", async () => {
    const { service, close } = await startMockServer({ templates: [template], log: () => {} });
    onTestFinished(close);
    const url = `${service.baseUrl}/api/v1/templates/${template.id}/passes`;
    for (let round = 0; round < 10; round++) {
      const refused = await fetch(url, {
        method: "POST",
        body: "x".repeat(300_000),
        headers: { authorization: "Bearer no" },
      });
      expect(refused.status).toBe(401);
      expect((await fetch(`${service.baseUrl}/_mock/health`)).status).toBe(200);
    }
  });

  it("an address that cannot be read is a problem too", async () => {
    const { service, close } = await startMockServer();
    onTestFinished(close);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => (text += chunk)).on("close", () => resolve(text));
      socket.end("TRACE / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*cannot be read/);
  });

  it("of all addresses, links name one that can be reached", async () => {
    const { url, close } = await startMockServer({ host: "0.0.0.0" });
    onTestFinished(close);
    expect(new URL(url).hostname).toBe("127.0.0.1");
    expect((await fetch(`${url}/_mock/health`)).status).toBe(200);
  });
});
