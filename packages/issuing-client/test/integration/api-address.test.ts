/** client.api sends to paths below baseUrl and nowhere else, whatever a call or a middleware says. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { createIssuingClient, type IssuingClient } from "../../src/index.ts";
import { undiciTransport } from "../../src/node-undici.ts";
import { signUp } from "../scripted.ts";

async function listen() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(200, { "content-type": "application/json" }).end('{"id":"card_1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { received, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function open(over: "fetch" | "undici", path: string) {
  const [service, evil] = await Promise.all([listen(), listen()]);
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  let keysAskedFor = 0;
  const client = createIssuingClient({
    baseUrl: service.baseUrl + path,
    apiKey: () => {
      keysAskedFor += 1;
      return "key";
    },
    ...(over === "undici" && { transport: undiciTransport(agent) }),
  });
  return { client, service, evil, keysAskedFor: () => keysAskedFor };
}

/** What the types forbid, and a program without types can do. */
type Untyped = (path: string, init?: object) => Promise<unknown>;
type Call = (client: IssuingClient, evilUrl: string, ownUrl: string) => Promise<unknown>;

const pathOf = (id: unknown, more: object = {}) => ({ params: { path: { id } }, ...more });
const literal =
  (path: string): Call =>
  ({ api }) =>
    (api.GET as Untyped)(path);
const id =
  (value: unknown): Call =>
  ({ api }) =>
    (api.GET as Untyped)("/passes/{id}/operations", pathOf(value));
const swapped =
  (urlOf: (evilUrl: string, ownUrl: string) => string): Call =>
  ({ api }, evilUrl, ownUrl) => {
    api.use({ onRequest: ({ request }) => new Request(urlOf(evilUrl, ownUrl), request) });
    return (api.GET as Untyped)("/passes/{id}", pathOf("card_1"));
  };

const refusals: Record<string, Call> = {
  'the id ".."': id(".."),
  'the id "."': id("."),
  "an empty id": id(""),
  "a blank id": id("  "),
  "an id that is half a letter": id("a\ud800"),
  "an id that is null": id(null),
  "an id that is a list": id(["..", ".."]),
  "no id": ({ api }) => (api.GET as Untyped)("/passes/{id}/operations"),
  "another parameter than the path names": ({ api }) =>
    (api.GET as Untyped)("/passes/{id}", { params: { path: { other: "card_1" } } }),
  'the template id ".." of a POST': ({ api }) =>
    api.POST("/templates/{templateId}/passes", { params: { path: { templateId: ".." } }, body: signUp }),
  'the id ".." of a PUT': ({ api }) =>
    api.PUT("/passes/{id}/consent", { params: { path: { id: ".." } }, body: { marketing: true } }),
  'the id ".." by request()': ({ api }) =>
    (api.request as (method: string, path: string, init: object) => Promise<unknown>)(
      "get",
      "/passes/{id}",
      pathOf(".."),
    ),
  "an id under a serializer that escapes nothing": ({ api }) =>
    api.GET("/passes/{id}", {
      params: { path: { id: "x/../../operations" } },
      pathSerializer: (path, params) => path.replace("{id}", String(params["id"])),
    }),
  "a serializer that writes another address": ({ api }, evilUrl) =>
    api.GET("/passes/{id}", {
      params: { path: { id: "card_1" } },
      pathSerializer: () => `${evilUrl}/api/v1/x`,
    }),
  "a path that climbs": literal("/passes/../../v2/operations"),
  "a path that climbs inside": literal("/passes/../operations"),
  "a path that climbs in escapes": literal("/passes/%2e%2E/operations"),
  "a path that climbs half in escapes": literal("/passes/.%2e/operations"),
  "a path that climbs behind a tab": literal("/passes/.\t./operations"),
  "a path that climbs before a space": literal("/passes/.. "),
  "a path with a backslash": literal("/passes\\..\\operations"),
  "a path that ends in a fragment": literal("/passes/..#x"),
  "a path with a broken escape": literal("/passes/%zz"),
  "an empty path": literal(""),
  "a path that continues the version": literal("2/operations"),
  "a path that begins with two slashes": ({ api }, evilUrl) =>
    (api.GET as Untyped)(`//${new URL(evilUrl).host}/operations`),
  "an absolute URL as the path": ({ api }, evilUrl) => (api.GET as Untyped)(`${evilUrl}/api/v1/passes/x`),
  "the host behind an @": ({ api }, evilUrl) => (api.GET as Untyped)(`@${new URL(evilUrl).host}/passes/x`),
  "another baseUrl": ({ api }, evilUrl) =>
    api.GET("/passes/{id}", { params: { path: { id: "card_1" } }, baseUrl: `${evilUrl}/api/v1` }),
  "a baseUrl that is none": ({ api }) =>
    api.GET("/passes/{id}", { params: { path: { id: "card_1" } }, baseUrl: "cards.test" }),
  "a fetch of the call's own": ({ api }) =>
    api.GET("/passes/{id}", { params: { path: { id: "card_1" } }, fetch: (request) => fetch(request) }),
  "a Request of the call's own that goes elsewhere": ({ api }, evilUrl) =>
    (api.GET as Untyped)(
      "/passes/{id}",
      pathOf("card_1", {
        Request: class extends Request {
          constructor(_url: string, init: RequestInit) {
            super(`${evilUrl}/api/v1/passes/x`, init);
          }
        },
      }),
    ),
  "a middleware that goes to another host": swapped((evilUrl) => `${evilUrl}/api/v1/passes/x`),
  "a middleware that goes to another path": swapped((_evilUrl, ownUrl) => `${ownUrl}/api/v1/../docs/json`),
  "a middleware that goes below a path that only begins alike": swapped(
    (_evilUrl, ownUrl) => `${ownUrl}/api/v10/passes/x`,
  ),
  "a header that names another host": ({ api }, evilUrl) =>
    api.GET("/passes/{id}", {
      params: { path: { id: "card_1" } },
      headers: { host: new URL(evilUrl).host },
    }),
};

describe.each([
  ["fetch", ""],
  ["undici", ""],
  ["fetch", "/shop"],
] as const)("over %s, below %j", (over, path) => {
  it.each(Object.entries(refusals))("refuses %s, before the key is asked for", async (_name, call) => {
    const { client, service, evil, keysAskedFor } = await open(over, path);
    await expect(call(client, evil.baseUrl, service.baseUrl + path)).rejects.toMatchObject({
      name: "IssuingError",
      code: "configuration",
      outcome: "not-sent",
      attempts: 0,
    });
    expect([service.received, evil.received, keysAskedFor()]).toEqual([[], [], 0]);
  });

  it.each(["a/b", "a?b=c", "a#b", "%2e%2e", "..%2f", "a\\b", "...", "ą", "a b"])(
    "the id %s stays one segment of the path",
    async (value) => {
      const { client, service } = await open(over, path);
      await client.api.GET("/passes/{id}", { params: { path: { id: value } } });
      expect(service.received).toEqual([`GET ${path}/api/v1/passes/${encodeURIComponent(value)} Bearer key`]);
    },
  );

  it("sends what is not in the contract too, with a number in the path, a query and a header", async () => {
    const { client, service } = await open(over, path);
    const init = { params: { path: { year: 2026 }, query: { at: "../x" } }, headers: { "x-shop": "praga" } };
    await (client.api.GET as Untyped)("/reports/{year}/days", init);
    expect(service.received).toEqual([`GET ${path}/api/v1/reports/2026/days?at=..%2Fx Bearer key`]);
  });

  it("sends the client's key whatever the call or a middleware gives", async () => {
    const { client, service } = await open(over, path);
    client.api.use({
      onRequest({ request }) {
        request.headers.set("authorization", "Bearer middleware");
      },
    });
    const headers = { authorization: "Basic mine" };
    await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } }, headers });
    expect(service.received).toEqual([`GET ${path}/api/v1/passes/card_1 Bearer key`]);
  });

  it("lets a middleware change the query and the path below /api/v1", async () => {
    const { client, service } = await open(over, path);
    client.api.use({
      onRequest: ({ request }) => new Request(`${request.url}/operations?limit=2`, request),
    });
    await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
    expect(service.received).toEqual([`GET ${path}/api/v1/passes/card_1/operations?limit=2 Bearer key`]);
  });
});
