/** The Fastify adapter, and other routes, which keep their own parsers. */
import fastify, { type FastifyInstance, type FastifyPluginAsync } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { fastifyReceiver } from "../../src/adapters/fastify.ts";
import { describeAdapter, type RunningServer, send } from "../adapter-contract.ts";
import { overHttp2 } from "../http2-request.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

async function listening(app: FastifyInstance): Promise<RunningServer> {
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  return { url: `${address}/webhooks`, close: () => app.close() };
}

describeAdapter("Fastify", {
  start: async (options) => {
    const app = fastify();
    await app.register(fastifyReceiver, { path: "/webhooks", ...options });
    return listening(app);
  },
  startWithBodyParsed: async (options) => {
    const app = fastify();
    app.addHook("preParsing", async (_request, _reply, payload) => {
      for await (const _chunk of payload);
      return payload;
    });
    await app.register(fastifyReceiver, { path: "/webhooks", ...options });
    return listening(app);
  },
  fix: /register fastifyReceiver outside that scope/,
});

it.each([
  ["the default JSON parser", () => {}],
  [
    "the JSON parser of the parent",
    (app: FastifyInstance) => {
      app.removeContentTypeParser("application/json");
      app.addContentTypeParser(
        "application/json",
        { parseAs: "string" },
        async (_request: unknown, body: string) => ({
          own: JSON.parse(body),
        }),
      );
    },
  ],
  [
    "a parser of the parent for all types",
    (app: FastifyInstance) => {
      app.addContentTypeParser("*", { parseAs: "string" }, async (_request: unknown, body: string) => ({
        all: body,
      }));
    },
  ],
])("does not change %s of the other Fastify routes", async (_name, prepare) => {
  const app = fastify();
  prepare(app);
  await app.register(fastifyReceiver, { path: "/webhooks", secret, handler: () => {} });
  app.post("/orders", async (request) => ({ got: request.body }));
  const { url, close } = await listening(app);
  onTestFinished(async () => void (await close()));
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(204);
  const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
  const response = await send(url.replace("/webhooks", "/orders"), order);
  expect(response.status).toBe(200);
  expect(response.text).toContain("points");
});

it.each(["garbage;;;=", ""])(
  "Fastify verifies the bytes also when the content type is malformed: %j",
  async (contentType) => {
    const app = fastify();
    await app.register(fastifyReceiver, { path: "/webhooks", secret, handler: () => {} });
    const { url, close } = await listening(app);
    onTestFinished(async () => void (await close()));
    const { body, headers } = signedDelivery(balanceChanged());
    expect((await send(url, { body, headers: { ...headers, "content-type": contentType } })).status).toBe(
      204,
    );
  },
);

it("verifies an injected delivery, and one over HTTP/2", async () => {
  const { body, headers } = signedDelivery(balanceChanged());
  const app = fastify();
  await app.register(fastifyReceiver, { path: "/webhooks", secret, handler: () => {} });
  onTestFinished(async () => void (await app.close()));
  expect((await app.inject({ method: "POST", url: "/webhooks", payload: body, headers })).statusCode).toBe(
    204,
  );

  const http2 = fastify({ http2: true });
  await http2.register(fastifyReceiver, { path: "/webhooks", secret, handler: () => {} });
  const address = await http2.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(async () => void (await http2.close()));
  expect(await overHttp2(address, body, headers)).toBe(204);
  expect(await overHttp2(address, `${body} `, headers)).toBe(401);
});

const receiver: FastifyPluginAsync = async (app) => {
  await app.register(fastifyReceiver, { path: "/webhooks", secret, handler: () => {}, log: () => {} });
};

it.each<[string, (app: FastifyInstance) => Promise<unknown>]>([
  [
    "before the plugin",
    async (app) => {
      app.get("/webhooks", async () => "the page of the webhooks");
      await app.register(receiver);
    },
  ],
  [
    "after the plugin",
    async (app) => {
      await app.register(receiver);
      app.get("/webhooks", async () => "the page of the webhooks");
    },
  ],
  [
    "after the plugin, for every path",
    async (app) => {
      await app.register(receiver);
      app.get("/*", async () => "the page of the webhooks");
    },
  ],
])("does not affect a GET route on the same path, registered %s", async (_name, register) => {
  const app = fastify();
  await register(app);
  const { url, close } = await listening(app);
  onTestFinished(async () => void (await close()));
  const page = await fetch(url);
  expect([page.status, await page.text()]).toEqual([200, "the page of the webhooks"]);
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(204);
  const other = await fetch(url, { method: "PUT", body: "x" });
  expect([other.status, other.headers.get("allow")?.split(", ").includes("POST")]).toEqual([405, true]);
});

it("lists the methods of the path in Allow", async () => {
  const app = fastify();
  await app.register(receiver);
  app.get("/webhooks", async () => "");
  const response = await app.inject({ method: "DELETE", url: "/webhooks?id=1" });
  expect(response.headers["allow"]?.split(", ").sort()).toEqual(["GET", "HEAD", "POST"]);
});

it("responds 405 under prefixes and with parameters, and 404 on other paths", async () => {
  const app = fastify();
  app.setNotFoundHandler((_request, reply) => reply.code(404).send("the application's own"));
  await app.register(
    async (shop) => {
      await shop.register(fastifyReceiver, { path: "/:shop/webhooks", secret, handler: () => {} });
      await shop.register(fastifyReceiver, { prefix: "/top", path: "/", secret, handler: () => {} });
    },
    { prefix: "/hooks" },
  );
  const getStatus = async (method: "GET" | "POST", url: string) =>
    (await app.inject({ method, url })).statusCode;
  expect(await getStatus("GET", "/hooks/berlin/webhooks")).toBe(405);
  expect(await getStatus("GET", "/hooks/top")).toBe(405);
  expect(await getStatus("GET", "/hooks/top/")).toBe(405);
  expect(await getStatus("POST", "/hooks/berlin/webhooks")).toBe(401);
  for (const url of ["/webhooks", "/hooks/berlin/webhooks/1", "/hooks/a/b/webhooks", "/hooks"]) {
    expect((await app.inject({ method: "GET", url })).body).toBe("the application's own");
  }
});
