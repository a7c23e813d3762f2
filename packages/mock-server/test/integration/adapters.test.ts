/**
 * One suite for every adapter: the service in process, with MSW, and on a port; and what
 * `startMockServer` adds.
 */
import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { caller, shopTemplate, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { createFolder } from "@loyalty-cards/testing/resources";
import { setupServer } from "msw/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { mockHandlers } from "../../src/adapters/msw.ts";
import { startMockServer, type TrafficEvent } from "../../src/adapters/node.ts";
import { createMockService, type MockService, manualClock } from "../../src/index.ts";
import { issueRequest } from "../shop.ts";
import { listen, openServer, sendRaw, temporaryFile } from "./command.ts";

/** The option of MSW 2, and that of MSW 3. */
const unhandled = { onUnhandledRequest: "error", onUnhandledFrame: "error" } as const;

interface OpenService {
  service: MockService;
  fetch: (request: Request) => Promise<Response>;
}

const adapters: Record<string, () => OpenService | Promise<OpenService>> = {
  fetch: () => {
    const service = createMockService({ templates: [shopTemplate], log: () => {} });
    return { service, fetch: service.fetch };
  },
  msw: () => {
    const service = createMockService({ templates: [shopTemplate], log: () => {} });
    const server = setupServer(...mockHandlers(service));
    server.listen(unhandled);
    onTestFinished(() => server.close());
    return { service, fetch: (request) => fetch(request) };
  },
  node: async () => {
    const { service } = await openServer();
    return { service, fetch: (request) => fetch(request) };
  },
};

describe.each(Object.entries(adapters))("with the adapter %s", (name, open) => {
  async function openWithCaller() {
    const { service, fetch } = await open();
    const call = caller(service.baseUrl, fetch, service.apiKeys.website);
    return { service, call };
  }
  const issuePath = `/api/v1/templates/${shopTemplate.id}/passes`;

  it("issues a card, finds it, changes its balance and consent, and serves the document", async () => {
    const { service, call } = await openWithCaller();
    const issued = await call("POST", issuePath, { body: toSignUp({ name: "Łucja 🎉" }) });
    expect(issued.status).toBe(201);
    const { id } = issued.body;
    expect(id).toBe(service.cards.get(id).id);
    const bought = await call("POST", `/_mock/cards/${id}/purchase`, {
      key: null,
      body: { points: 12 },
    });
    expect(bought).toMatchObject({ status: 201, body: { balance: 12 } });
    expect((await call("GET", `/api/v1/passes/${id}`)).body).toMatchObject({
      loyaltyBalance: 12,
      loyaltyTier: "Silver",
    });
    expect((await call("GET", `/api/v1/passes/${id}/operations?limit=1`)).body.items).toHaveLength(
      1,
    );
    const change = { body: { marketing: true } };
    expect((await call("PUT", `/api/v1/passes/${id}/consent`, change)).body).toMatchObject({
      marketingConsent: true,
      customer: { name: "Łucja 🎉" },
    });
    expect((await call("GET", `/api/v1/passes/${id}/consent`)).body.marketingConsent).toBe(true);
    const { body: document } = await call("GET", "/api/docs/json", { key: null });
    expect(document.servers).toMatchObject([{ url: `${service.baseUrl}/api/v1` }]);
  });

  it("responds with problem details to every request that it rejects", async () => {
    const { call } = await openWithCaller();
    for (const [expected, method, path, options] of [
      [401, "GET", "/api/v1/passes/card_1", { key: null }],
      [404, "GET", "/api/v1/passes/card_1", {}],
      [404, "GET", "/api/v1/nothing", {}],
      [405, "DELETE", "/api/v1/passes/card_1", {}],
      [400, "POST", issuePath, { body: "{" }],
      [415, "POST", issuePath, { body: "a=1", headers: { "content-type": "text/plain" } }],
      [422, "POST", issuePath, { body: toSignUp({}, {}) }],
      [413, "POST", issuePath, { body: `"${"x".repeat(1024 * 1024)}"` }],
    ] as const) {
      const { status, headers } = await call(method, path, options);
      expect([status, headers.get("content-type")]).toEqual([expected, "application/problem+json"]);
    }
  });

  it.each([
    ["reset", ["fetch failed", "ECONNRESET"]],
    ["destroy", ["fetch failed", "UND_ERR_SOCKET"]],
    ["truncate", ["terminated", expect.stringMatching(/^UND_ERR_/)]],
    ["hang", ["This operation was aborted", undefined]],
  ] as const)(
    "rejects with %s after the commit, and returns the card on a retry",
    async (kind, expected) => {
      const { service, fetch } = await open();
      service.faults.add({ phase: "after-commit", kind, times: 1 });
      const abort = new AbortController();
      const countCards = () =>
        (service.snapshot().state as { cards: Map<string, unknown> }).cards.size;
      const issue = async (signal?: AbortSignal) => {
        const response = await fetch(
          issueRequest(service, { "idempotency-key": "user-1" }, signal),
        );
        return (await response.json()) as { id: string };
      };
      const seen = issue(kind === "hang" ? abort.signal : undefined).catch(
        ({ message, cause }: Error & { cause?: { code?: string } }) => [message, cause?.code],
      );
      await expect.poll(countCards).toBe(1);
      abort.abort();
      expect(await seen).toEqual(name === "node" ? expected : expect.any(Array));
      const { id } = await issue();
      expect(countCards()).toBe(1);
      expect(service.cards.get(id).loyaltyBalance).toBe(0);
    },
  );
});

describe("with MSW", () => {
  it.each([
    ["capital letters, the default port and a path", "https://Cards.Example.test:443/shop/"],
    ["a host of IPv6", "http://[::1]:3000"],
    ["parentheses", "https://cards.example.test/shop(1)"],
  ])("responds under a base URL with %s", async (_what, baseUrl) => {
    const service = createMockService({ baseUrl });
    const server = setupServer(...mockHandlers(service));
    server.listen(unhandled);
    onTestFinished(() => server.close());
    const health = new URL(baseUrl).href.replace(/\/?$/, "/_mock/health");
    expect((await fetch(health)).status).toBe(200);
  });

  it("lets the user's handlers take precedence, and leaves other addresses alone", async () => {
    const { http, HttpResponse } = await import("msw");
    const service = createMockService();
    const server = setupServer(...mockHandlers(service));
    server.listen(unhandled);
    onTestFinished(() => server.close());
    server.use(
      http.get("*/api/v1/passes/:id", () => HttpResponse.json({ own: true }, { status: 503 })),
    );
    expect((await fetch(`${service.baseUrl}/api/v1/passes/card_1`)).status).toBe(503);
    expect((await fetch(`${service.baseUrl}/_mock/health`)).status).toBe(200);
    // The two majors word it differently; the network would report ENOTFOUND.
    const refused = await fetch("https://elsewhere.test/").catch((error: Error) => error);
    expect(`${(refused as Error).name} ${(refused as { cause?: Error }).cause?.name}`).toContain(
      "InternalError",
    );
  });

  it("says that a handler of the user has read the body", async () => {
    const { http } = await import("msw");
    const service = createMockService({ templates: [shopTemplate] });
    const read = http.post("*", async ({ request }) => void (await request.text()));
    const server = setupServer(read, ...mockHandlers(service));
    server.listen(unhandled);
    onTestFinished(() => server.close());
    const call = caller(service.baseUrl, fetch, service.apiKeys.website);
    const path = `/api/v1/templates/${shopTemplate.id}/passes`;
    const { status, body } = await call("POST", path, { body: toSignUp() });
    expect([status, body.detail]).toEqual([400, expect.stringContaining("read request.clone()")]);
  });
});

describe("on a port", () => {
  it("handles the next request after a body that was not read", async () => {
    const { service, url } = await openServer();
    const body = "x".repeat(300_000);
    const headers = { authorization: "Bearer no" };
    for (let round = 0; round < 10; round++) {
      expect(
        (await fetch(issueRequest(service).url, { method: "POST", body, headers })).status,
      ).toBe(401);
      expect((await fetch(`${url}/_mock/health`)).status).toBe(200);
    }
  });

  it("sends status 201 and half of the body under truncate, and then nothing", async () => {
    const { service, url } = await openServer();
    service.faults.add({ phase: "after-commit", kind: "truncate", times: 1 });
    const body = JSON.stringify(toSignUp());
    const text = await sendRaw(
      url,
      `POST /api/v1/templates/${shopTemplate.id}/passes HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${service.apiKeys.website}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const [head = "", half = ""] = text.split("\r\n\r\n");
    const announced = Number(/content-length: (\d+)/.exec(head)?.[1]);
    expect([head.startsWith("HTTP/1.1 201 "), half.length]).toEqual([true, announced >> 1]);
  });

  it("closes at the end of a block", async () => {
    const check = (url: string) => fetch(`${url}/_mock/health`);
    let kept = "";
    {
      await using server = await startMockServer();
      kept = server.url;
      expect((await check(kept)).status).toBe(200);
    }
    await expect(check(kept)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it("sets its own clock back to real time on a reset, when it is ahead", async () => {
    const { service } = await openServer();
    await service.clock.advance("6h");
    service.reset();
    expect(service.clock.now()).toBeLessThan(Date.now() + 3_600_000);
  });

  it("uses a reachable address in links when it listens on all addresses", async () => {
    const { url } = await openServer({ host: "0.0.0.0" });
    expect(new URL(url).hostname).toBe("127.0.0.1");
    expect((await fetch(`${url}/_mock/health`)).status).toBe(200);
  });

  it("starts with the endpoints of the options, then those of the seed file, and rejects with EADDRINUSE on the same port", async () => {
    const endpoint = (path: string) => ({
      url: `http://127.0.0.1:9/${path}`,
      events: ["ping" as const],
    });
    const seedFile = temporaryFile(
      JSON.stringify({
        defaultCountry: "DE",
        templates: [{ name: "Bakery" }],
        endpoints: [endpoint("seed"), { ...endpoint("option"), secret: "whsec_seed" }],
      }),
    );
    const { service } = await openServer({
      seedFile,
      templates: [{ id: "tpl_option", name: "Option" }],
      endpoints: [{ ...endpoint("option"), secret: undefined }],
    });
    expect(service.endpoints.map(({ url }) => new URL(url).pathname)).toEqual(["/option", "/seed"]);
    expect(service.endpoints[0]?.secret).toBe("whsec_seed");
    expect(service.templateId).toBe("tpl_option");
    const { port } = new URL(service.baseUrl);
    await expect(startMockServer({ port: Number(port) })).rejects.toMatchObject({
      code: "EADDRINUSE",
      message: expect.stringContaining(`Port ${port} is already in use`),
    });
  });

  it("ignores options that are undefined", async () => {
    const seedFile = temporaryFile(
      JSON.stringify({ templates: [{ id: "tpl_seed", name: "Seed" }] }),
    );
    const { service } = await openServer({
      seedFile,
      clock: undefined,
      templates: undefined,
    } as never);
    expect(await service.clock.advance("1h").catch((error) => error)).toEqual([]);
    expect(service.templateId).toBe("tpl_seed");
  });

  it("logs the error behind a 500, also when onTraffic gets the warnings", async () => {
    const lines: string[] = [];
    const clock = manualClock();
    const log = (line: string) => void lines.push(line);
    const { service } = await openServer({ clock, log, onTraffic: () => {} });
    clock.now = () => Number.NaN; // the time has no ISO 8601
    expect((await fetch(`${service.baseUrl}/_mock/clock`)).status).toBe(500);
    expect(lines).toEqual([expect.stringMatching(/^The mock service failed: RangeError at /)]);
  });

  it("reports requests and delivery attempts as data, without queries", async () => {
    const events: TrafficEvent[] = [];
    const url = await listen(
      (request, response) =>
        void request.resume().on("end", () => response.writeHead(401).end("signature mismatch\n")),
    );
    const { service } = await openServer({
      templates: [{ name: "Bakery" }],
      endpoints: [{ url: `${url}?token=abc`, events: ["card.added"] }],
      onTraffic: (event) => void events.push(event),
    });
    service.faults.add({ kind: "destroy", phase: "after-commit", times: 1 });
    await expect(fetch(issueRequest(service))).rejects.toThrow();
    expect(events.shift()).toMatchObject({ reason: "response lost; the card exists" });
    const request = issueRequest(service);
    const response = await fetch(new Request(`${request.url}?from=web`, request));
    const { id } = (await response.json()) as { id: string };
    service.cards.addToWallet(id, "apple");
    await service.idle();
    expect(events).toEqual([
      {
        kind: "request",
        operation: "issueCard",
        method: "POST",
        path: `/api/v1/templates/${service.templateId}/passes`,
        status: 201,
        durationMs: expect.any(Number),
        cardId: id,
        warnings: [expect.stringContaining("fieldValues has keys that template")],
      },
      {
        kind: "delivery",
        type: "card.added",
        eventId: expect.stringMatching(/^evt_/),
        deliveryId: expect.stringMatching(/^dlv_/),
        url,
        attempt: 1,
        status: 401,
        responseStart: "signature mismatch",
        durationMs: expect.any(Number),
        state: "pending",
        nextAttemptInMs: expect.any(Number),
      },
    ]);
  });

  it.each([
    ["throws", (): never => expect.fail()],
    ["rejects", () => Promise.reject(new Error("mine"))],
  ])("responds and delivers as before when onTraffic or log %s", async (_how, fail) => {
    const logged: string[] = [];
    function log(line: string) {
      logged.push(line);
      return fail();
    }
    for (const options of [{ onTraffic: fail, log }, { log }]) {
      const { url, service, close } = await startMockServer({
        templates: [shopTemplate],
        ...options,
      });
      const call = caller(url, fetch, service.apiKeys.website);
      const form = { body: toSignUp({ nmae: "Anna" }) };
      const path = `/api/v1/templates/${shopTemplate.id}/passes`;
      expect((await call("POST", path, form)).status).toBe(201);
      const { id } = service.webhooks.createEndpoint({
        url: "http://127.0.0.1:9",
        events: ["ping"],
      });
      service.webhooks.sendTest(id);
      await service.idle();
      expect(await service.clock.advance("1m")).toHaveLength(1);
      await close();
    }
    expect(logged.join()).toMatch(/^onTraffic threw \w+; it must not throw\..*warning: /);
  });

  it("reports that the clock is moved: before the attempts, when the end is known", async () => {
    const events: TrafficEvent[] = [];
    const { service } = await openServer({
      endpoints: [{ url: await listen((_, response) => response.destroy()), events: ["ping"] }],
      onTraffic: (event) => void events.push(event),
    });
    service.webhooks.sendTest(service.endpoints[0]?.id ?? "");
    await service.idle();
    await service.clock.advance("2m");
    await service.clock.runUntilIdle();
    await service.clock.runUntilIdle(); // nothing is due
    const hours = (count: number) => expect.closeTo(count * 3_600_000, -5);
    expect(events).toMatchObject([
      { kind: "delivery", attempt: 1 },
      { kind: "clock", movedMs: hours(2 / 60) },
      { kind: "delivery", attempt: 2 },
      ...[3, 4, 5, 6].map((attempt) => ({ kind: "delivery", attempt })),
      { kind: "clock", movedMs: hours(8.6 - 2 / 60), now: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
  });

  it("ends the delivery attempts in progress when it closes, and repeats them with the same data file", async () => {
    const dataFile = join(createFolder(), "data.json");
    const ids: unknown[] = [];
    let isBusy = true;
    const arrivals = new EventEmitter();
    const url = await listen((request, response) => {
      request.resume();
      ids.push(request.headers["service-delivery"]);
      arrivals.emit("request");
      request.socket.once("close", () => arrivals.emit("close"));
      if (!isBusy) response.writeHead(204).end();
    });
    const first = await openServer({ dataFile, endpoints: [{ url, events: ["ping"] }] });
    const arrived = once(arrivals, "request");
    const { id } = first.service.webhooks.sendTest(first.service.endpoints[0]?.id ?? "");
    await arrived;
    const ended = once(arrivals, "close");
    await first.close();
    await ended;
    isBusy = false;
    const { service } = await openServer({ dataFile });
    await service.idle();
    expect(ids).toEqual([id, id]);
    expect(service.webhooks.deliveries()).toMatchObject([{ id, state: "delivered" }]);
  });
});

it("says what the handlers of MSW need", () => {
  const call = mockHandlers as () => unknown;
  expect(call).toThrow("mockHandlers takes a service: mockHandlers(createMockService()).");
});

it("says which version of MSW it needs, when the exports are those of MSW 1", async () => {
  vi.doMock("msw", () => ({ http: undefined, rest: {} }));
  onTestFinished(() => void vi.doUnmock("msw"));
  const adapter: typeof import("../../src/adapters/msw.ts") = await import(
    `../../src/adapters/msw.ts?${"1"}`
  );
  expect(() => adapter.mockHandlers(createMockService({ log: () => {} }))).toThrow(
    "mockHandlers needs MSW 2 or 3. This one is older.",
  );
});

/** Runs a program in a process of its own. */
async function runProgram(program: string): Promise<string> {
  const args = ["--conditions", "@loyalty-cards/source", "--import", "tsx", "--input-type=module"];
  const { stdout } = await promisify(execFile)(process.execPath, [...args, "-e", program]);
  return stdout;
}

it("loads the classes of fetch with the first request: they take a sixth of the memory", async () => {
  const stdout = await runProgram(`
    const loaded = new Set();
    for (const name of ["Headers", "Request", "Response"]) {
      const { get, value } = Object.getOwnPropertyDescriptor(globalThis, name);
      const load = () => (loaded.add(name), get ? get.call(globalThis) : value);
      Object.defineProperty(globalThis, name, { configurable: true, get: load });
    }
    const adapter = await import("${new URL("../../src/adapters/node.ts", import.meta.url)}");
    const { url, close } = await adapter.startMockServer();
    const before = loaded.size;
    const { status } = await fetch(url + "/_mock/health");
    console.log(JSON.stringify({ before, status }));
    await close();`);
  expect(JSON.parse(stdout)).toEqual({ before: 0, status: 200 });
});

it("responds on a port where @hono/node-server has replaced the global Response before it was imported", async () => {
  const { Request, Response } = globalThis;
  getRequestListener(() => new Response()); // replaces both
  const constants = "@hono/node-server/utils/response";
  vi.doMock(constants, () => ({
    RESPONSE_ALREADY_SENT: new globalThis.Response(null, {
      headers: { "x-hono-already-sent": "true" },
    }),
  }));
  onTestFinished(() => {
    vi.doUnmock(constants);
    Object.assign(globalThis, { Request, Response });
  });
  vi.resetModules();
  const node: typeof import("../../src/adapters/node.ts") = await import(
    "../../src/adapters/node.ts"
  );
  const { url, close } = await node.startMockServer({ log: () => {} });
  onTestFinished(close);
  const response = await fetch(`${url}/_mock/no-such-path`, {
    method: "POST",
    body: "x".repeat(100_000),
  });
  expect([response.status, await response.text()]).toEqual([
    404,
    expect.stringContaining("no-such-path"),
  ]);
});
