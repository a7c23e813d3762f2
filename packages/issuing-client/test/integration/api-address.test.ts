/**
 * client.api sends only to paths below baseUrl, also with options of a call and middleware that
 * would change that.
 */
import { createServer } from "node:http";
import { signUp } from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it } from "vitest";
import { createIssuingClient, type IssuingClient } from "../../src/index.ts";
import { listen } from "../server.ts";

async function serve() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(200, { "content-type": "application/json" }).end('{"id":"card_1"}');
  });
  return { received, baseUrl: `http://127.0.0.1:${await listen(server)}` };
}

async function open(over: "node:http" | "fetch", path: string) {
  const [service, evil] = await Promise.all([serve(), serve()]);
  let keyReads = 0;
  const client = createIssuingClient({
    baseUrl: service.baseUrl + path,
    apiKey: () => {
      keyReads += 1;
      return "key";
    },
    ...(over === "fetch" && { fetch }),
  });
  return { client, service, evil, countKeyReads: () => keyReads };
}

/** Without types, for calls that TypeScript rejects. */
type Untyped = (path: string, init?: object) => Promise<unknown>;
type Call = (client: IssuingClient, evilUrl: string, ownUrl: string) => Promise<unknown>;

const toInit = (id: unknown) => ({ params: { path: { id } } });
const get = ({ api }: IssuingClient, path: string, init?: object) =>
  (api.GET as Untyped)(path, init);
const getCard = (client: IssuingClient, init: object) =>
  get(client, "/passes/{id}", { ...toInit("card_1"), ...init });
const literal =
  (path: string): Call =>
  (client) =>
    get(client, path);
const id =
  (value: unknown): Call =>
  (client) =>
    get(client, "/passes/{id}/operations", toInit(value));
const withMiddlewareUrl =
  (getUrl: (evilUrl: string, ownUrl: string) => string): Call =>
  (client, evilUrl, ownUrl) => {
    client.api.use({ onRequest: ({ request }) => new Request(getUrl(evilUrl, ownUrl), request) });
    return getCard(client, {});
  };

const rejectedCalls: Record<string, Call> = {
  'the id ".."': id(".."),
  'the id "."': id("."),
  "an empty id": id(""),
  "a blank id": id("  "),
  "an id that is not well-formed text": id("a\ud800"),
  "an id that is null": id(null),
  "an id that is a list": id(["..", ".."]),
  "no id": literal("/passes/{id}/operations"),
  "a parameter that the path does not have": (client) =>
    getCard(client, { params: { path: { other: "card_1" } } }),
  'the template id ".." of a POST': ({ api }) =>
    api.POST("/templates/{templateId}/passes", {
      params: { path: { templateId: ".." } },
      body: signUp,
    }),
  'the id ".." of a PUT': ({ api }) =>
    api.PUT("/passes/{id}/consent", { params: { path: { id: ".." } }, body: { marketing: true } }),
  'the id ".." by request()': ({ api }) =>
    (api.request as (method: string, path: string, init: object) => Promise<unknown>)(
      "get",
      "/passes/{id}",
      toInit(".."),
    ),
  "an id with a serializer that does not escape it": ({ api }) =>
    api.GET("/passes/{id}", {
      params: { path: { id: "x/../../operations" } },
      pathSerializer: (path, params) => path.replace("{id}", String(params["id"])),
    }),
  "a serializer that returns another address": (client, evilUrl) =>
    getCard(client, { pathSerializer: () => `${evilUrl}/api/v1/x` }),
  "a path whose dot segments leave /api/v1": literal("/passes/../../v2/operations"),
  "a path whose dot segments stay below /api/v1": literal("/passes/../operations"),
  "a path with an escaped dot segment": literal("/passes/%2e%2E/operations"),
  "a path with a partly escaped dot segment": literal("/passes/.%2e/operations"),
  "a path with a tab in a dot segment": literal("/passes/.\t./operations"),
  "a path with a space after a dot segment": literal("/passes/.. "),
  "a path with a backslash": literal("/passes\\..\\operations"),
  "a path with a fragment after a dot segment": literal("/passes/..#x"),
  "a path with a broken escape": literal("/passes/%zz"),
  "an empty path": literal(""),
  "an empty path below a second /api/v1": literal("/api/v1/"),
  "a second /api/v1 and dot segments": literal("/api/v1/../../v2/operations"),
  "a path without a leading slash": literal("2/operations"),
  "a path that begins with two slashes": (client, evilUrl) =>
    get(client, `//${new URL(evilUrl).host}/operations`),
  "an absolute URL as the path": (client, evilUrl) => get(client, `${evilUrl}/api/v1/passes/x`),
  "a path that begins with @ and a host": (client, evilUrl) =>
    get(client, `@${new URL(evilUrl).host}/passes/x`),
  "another baseUrl": (client, evilUrl) => getCard(client, { baseUrl: `${evilUrl}/api/v1` }),
  "a baseUrl that is not a URL": (client) => getCard(client, { baseUrl: "cards.test" }),
  "a Request option of the call with another URL": (client, evilUrl) =>
    getCard(client, {
      Request: class extends Request {
        constructor(_url: string, init: RequestInit) {
          super(`${evilUrl}/api/v1/passes/x`, init);
        }
      },
    }),
  "a middleware that changes the host": withMiddlewareUrl(
    (evilUrl) => `${evilUrl}/api/v1/passes/x`,
  ),
  "a middleware that changes the path to one outside /api/v1": withMiddlewareUrl(
    (_evilUrl, ownUrl) => `${ownUrl}/api/v1/../docs/json`,
  ),
  "a middleware that changes /api/v1 to /api/v10": withMiddlewareUrl(
    (_evilUrl, ownUrl) => `${ownUrl}/api/v10/passes/x`,
  ),
  "a host header with another host": (client, evilUrl) =>
    getCard(client, { headers: { host: new URL(evilUrl).host } }),
};

describe.each([
  ["node:http", ""],
  ["fetch", ""],
  ["node:http", "/shop"],
] as const)("over %s, below %j", (over, path) => {
  // G7
  it.each(Object.entries(rejectedCalls))(
    "rejects %s before the API key is read",
    async (_name, call) => {
      const { client, service, evil, countKeyReads } = await open(over, path);
      await expect(call(client, evil.baseUrl, service.baseUrl + path)).rejects.toMatchObject({
        name: "IssuingError",
        code: "configuration",
        outcome: "not-sent",
        attempts: 0,
      });
      expect([service.received, evil.received, countKeyReads()]).toEqual([[], [], 0]);
    },
  );

  it.each(["a/b", "a?b=c", "a#b", "%2e%2e", "..%2f", "a\\b", "...", "ą", "a b"])(
    "encodes the id %s as one segment of the path",
    async (value) => {
      const { client, service } = await open(over, path);
      await get(client, "/passes/{id}", toInit(value));
      await client.getCard(value).catch(() => {});
      const sent = `GET ${path}/api/v1/passes/${encodeURIComponent(value)} Bearer key`;
      expect(service.received).toEqual([sent, sent]);
    },
  );

  it("sends requests that are not in the OpenAPI document, with a number in the path, a query and a header", async () => {
    const { client, service } = await open(over, path);
    const init = {
      params: { path: { year: 2026 }, query: { at: "../x" } },
      headers: { "x-shop": "praga" },
    };
    await get(client, "/reports/{year}/days", init);
    expect(service.received).toEqual([`GET ${path}/api/v1/reports/2026/days?at=..%2Fx Bearer key`]);
  });

  it("prefixes /api/v1 once, also when the path has it, as some documents do", async () => {
    const { client, service } = await open(over, path);
    await get(client, "/api/v1/customers/{id}", toInit("7"));
    await get(client, "/api/v10/customers");
    expect(service.received).toEqual([
      `GET ${path}/api/v1/customers/7 Bearer key`,
      `GET ${path}/api/v1/api/v10/customers Bearer key`,
    ]);
  });

  it("sends the client's API key when a call or middleware sets another", async () => {
    const { client, service } = await open(over, path);
    client.api.use({
      onRequest({ request }) {
        request.headers.set("authorization", "Bearer middleware");
      },
    });
    await getCard(client, { headers: { authorization: "Basic mine" } });
    expect(service.received).toEqual([`GET ${path}/api/v1/passes/card_1 Bearer key`]);
  });

  it("gives no API key to a fetch option of the call", async () => {
    const { client, service, countKeyReads } = await open(over, path);
    await getCard(client, { fetch: (request: Request) => fetch(request) });
    expect([service.received, countKeyReads()]).toEqual([
      [`GET ${path}/api/v1/passes/card_1 undefined`],
      0,
    ]);
  });

  it("allows middleware to change the query and the path below /api/v1", async () => {
    const { client, service } = await open(over, path);
    client.api.use({
      onRequest: ({ request }) => new Request(`${request.url}/operations?limit=2`, request),
    });
    await getCard(client, {});
    expect(service.received).toEqual([
      `GET ${path}/api/v1/passes/card_1/operations?limit=2 Bearer key`,
    ]);
  });
});
