/** The Fastify adapter, and other routes, which keep their own parsers. */
import { PassThrough, Readable, Transform } from "node:stream";
import { send } from "@loyalty-cards/testing/http";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyRequest,
  type RequestPayload,
} from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { fastifyReceiver } from "../../src/adapters/fastify.ts";
import type { ReceiverOptions } from "../../src/index.ts";
import { overHttp2 } from "../every-adapter.ts";

const receiver: FastifyPluginAsync<Partial<ReceiverOptions>> = async (app, options) => {
  const { prefix: _, ...others } = options as { prefix?: string };
  const defaults = { path: "/webhooks", secret, handler: () => {}, log: () => {} };
  await app.register(fastifyReceiver, { ...defaults, ...others });
};

/**
 * Listens until the test has finished.
 * @returns the address of the webhook route.
 */
async function serve(app: FastifyInstance): Promise<string> {
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(async () => void (await app.close()));
  return `${address}/webhooks`;
}

const inject = (app: FastifyInstance, contentType = "application/json") => {
  const { body, headers } = signedDelivery(balanceChanged());
  const type = { "content-type": contentType };
  return app.inject({
    method: "POST",
    url: "/webhooks",
    payload: body,
    headers: { ...headers, ...type },
  });
};

const parseOwn = async (_request: unknown, own: string) => ({ own });

it.each<[string, (app: FastifyInstance) => void]>([
  ["the default JSON parser", () => {}],
  [
    "the JSON parser of the parent",
    (app) => {
      app.removeContentTypeParser("application/json");
      app.addContentTypeParser("application/json", { parseAs: "string" }, parseOwn);
    },
  ],
  [
    "a parser of the parent for all types",
    (app) => app.addContentTypeParser("*", { parseAs: "string" }, parseOwn),
  ],
])("does not change %s of the other Fastify routes", async (_name, prepare) => {
  const app = fastify();
  prepare(app);
  await app.register(receiver);
  app.post("/orders", async (request) => ({ got: request.body }));
  const url = await serve(app);
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(204);
  const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
  const response = await send(url.replace("/webhooks", "/orders"), order);
  expect([response.status, response.text]).toEqual([200, expect.stringContaining("points")]);
});

const options = { path: "/webhooks", secret, handler: () => {} };
/** As the package fastify-plugin does: the plugin has no scope of its own. */
const wrap = (plugin: FastifyPluginAsync) =>
  Object.assign(plugin, { [Symbol.for("skip-override")]: true });

it.each<[string, (app: FastifyInstance) => unknown]>([
  ["called with the application", (app) => fastifyReceiver(app, options)],
  ["wrapped", (app) => app.register(wrap((own) => fastifyReceiver(own, options)))],
])("does not change the parsers of other routes when the plugin is %s", async (_how, mount) => {
  const app = fastify();
  mount(app);
  app.post("/orders", async (request) => ({ got: request.body }));
  app.setErrorHandler((_error, _request, reply) => reply.code(418).send());
  await app.ready();
  expect((await inject(app)).statusCode).toBe(204);
  const order = await app.inject({ method: "POST", url: "/orders", payload: { points: 1 } });
  expect(order.json()).toEqual({ got: { points: 1 } });
  const headers = { "content-type": "application/json" };
  const broken = await app.inject({ method: "POST", url: "/orders", payload: "{", headers });
  expect(broken.statusCode).toBe(418);
});

it.each(["application/json", "text/plain;charset=x", "garbage;;;=", "", undefined])(
  "verifies the bytes with the content type %j, which the hooks of the Fastify application see as it was sent",
  async (contentType) => {
    const seen: unknown[] = [];
    const app = fastify();
    const see = async ({ headers }: FastifyRequest) => void seen.push(headers["content-type"]);
    app.addHook("onRequest", see).addHook("preParsing", see).addHook("onResponse", see);
    app.addHook("preValidation", see).addHook("preHandler", see);
    await app.register(receiver);
    app.addHook("preParsing", see); // after the plugin
    const { body, headers } = signedDelivery(balanceChanged());
    delete headers["content-type"];
    if (contentType !== undefined) headers["content-type"] = contentType;
    expect((await send(await serve(app), { body, headers })).status).toBe(204);
    const isMalformed = contentType === "" || contentType?.startsWith("garbage");
    const hooks = isMalformed ? 4 : 6; // Fastify runs no handler's hooks for a malformed one
    await expect.poll(() => seen).toEqual(Array(hooks).fill(contentType));
  },
);

it("accepts a delivery when a hook of the Fastify application allows JSON only", async () => {
  const app = fastify();
  app.addHook("preHandler", async ({ headers }, reply) =>
    headers["content-type"] === "application/json" ? undefined : reply.code(415).send(),
  );
  await app.register(receiver);
  expect((await inject(app)).statusCode).toBe(204);
  expect((await inject(app, "text/plain")).statusCode).toBe(415);
});

it("leaves the errors of other hooks to the error handler of the Fastify application", async () => {
  const app = fastify();
  app.setErrorHandler((_error, _request, reply) => reply.code(418).send("the application's own"));
  app.addHook("preHandler", async () => {
    throw new Error("no session");
  });
  await app.register(receiver);
  const response = await inject(app);
  expect([response.statusCode, response.body]).toEqual([418, "the application's own"]);
});

it("verifies an injected delivery, and one over HTTP/2", async () => {
  const app = fastify();
  await app.register(receiver);
  expect((await inject(app)).statusCode).toBe(204);

  const http2 = fastify({ http2: true });
  await http2.register(receiver);
  const address = await http2.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(async () => void (await http2.close()));
  const { body, headers } = signedDelivery(balanceChanged());
  expect(await overHttp2(address, body, headers)).toBe(204);
  expect(await overHttp2(address, `${body} `, headers)).toBe(401);
});

/** Hooks that return the same bytes in another stream. */
const sameBytes: Record<
  string,
  (payload: RequestPayload) => RequestPayload | Promise<RequestPayload>
> = {
  "a stream": (payload) => payload.pipe(new PassThrough()),
  "a stream of single bytes": (payload) =>
    payload.pipe(
      new Transform({
        transform(chunk: Buffer, _encoding, done) {
          for (const byte of chunk) this.push(Uint8Array.of(byte));
          done();
        },
      }),
    ),
  "a stream of the bytes that it has read": async (payload) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of payload) chunks.push(chunk as Uint8Array);
    return Readable.from(chunks, { objectMode: false });
  },
  "the request itself": (payload) => payload,
};

it.each(Object.entries(sameBytes))(
  "verifies the bytes within the limit when a preParsing hook returns %s",
  async (_name, hook) => {
    const events: string[] = [];
    const app = fastify();
    app.addHook("preParsing", async (_request, _reply, payload) => hook(payload));
    await app.register(receiver, {
      maxBodyBytes: 1_000,
      handler: ({ id }) => void events.push(id),
    });
    const url = await serve(app);
    const { body, headers } = signedDelivery(balanceChanged());
    expect((await send(url, { body, headers })).status).toBe(204);
    expect((await send(url, { body: `${body} `, headers })).status).toBe(401);
    for (const encoding of [{}, { "transfer-encoding": "chunked" }]) {
      const delivery = { body: "x".repeat(100_000), headers: { ...headers, ...encoding } };
      expect((await send(url, delivery)).status).toBe(413);
    }
    expect((await send(url, signedDelivery(balanceChanged("evt_2")))).status).toBe(204);
    expect(events).toEqual(["evt_1", "evt_2"]);
  },
);

it("responds 400 when the stream of a preParsing hook fails or has ended, and 500 when it is text", async () => {
  const log: string[] = [];
  const broken = () =>
    new Readable({
      read() {
        this.destroy(new Error("cut"));
      },
    });
  for (const [createStream, status] of [
    [broken, 400],
    [() => new Readable().destroy(), 400],
    [() => Readable.from(["text"]), 500],
  ] as const) {
    const app = fastify();
    app.addHook("preParsing", async () => createStream());
    await app.register(receiver, { log: (line) => log.push(line) });
    expect((await send(await serve(app), signedDelivery(balanceChanged()))).status).toBe(status);
  }
  expect(log).toEqual([
    expect.stringMatching(/rejected: unreadable/),
    expect.stringMatching(/rejected: unreadable/),
    expect.stringMatching(/let the preParsing hook return a stream of the same bytes/),
  ]);
});

it("survives a stream of a preParsing hook that fails after the response", async () => {
  const stream = new Readable({ read() {} });
  const app = fastify();
  app.addHook("preParsing", async () => stream);
  await app.register(receiver);
  expect((await send(await serve(app), { body: "{}", headers: {} })).status).toBe(401);
  const closed = new Promise((resolve) => stream.once("close", resolve));
  stream.destroy(new Error("cut")); // without a listener, the test runner reports an uncaught exception
  await closed;
});

const rightUse =
  /^fastifyReceiver is a plugin, not a route handler: write app\.register\(fastifyReceiver, \{ path: "\/webhooks\/loyalty", secret, handler \}\)\. In Express, use expressReceiver\.$/;

it("throws at once when it is called as a function that creates a route handler", () => {
  const misuse = fastifyReceiver as unknown as (options: object) => never;
  const app = fastify();
  const mount = () => app.post("/webhooks", misuse({ secret, handler: () => {} }));
  expect(mount).toThrow(TypeError);
  expect(mount).toThrow(rightUse);
  expect(() => misuse(undefined as never)).toThrow(rightUse);
});

it("responds 500 to a delivery when it is the route handler, and the error says how to mount it", async () => {
  const app = fastify();
  app.setErrorHandler((error: Error, _request, reply) => reply.code(500).send(error.message));
  app.post("/webhooks", fastifyReceiver as never);
  const response = await inject(app);
  expect([response.statusCode, response.body]).toEqual([500, expect.stringMatching(rightUse)]);
});

it("knows the options that app.register reads itself, and rejects others when the application starts", async () => {
  const options = { path: "/webhooks", secret, handler: () => {} };
  const app = fastify();
  await app.register(fastifyReceiver, {
    ...options,
    prefix: "/shop",
    logLevel: "warn",
    logSerializers: {},
  });
  await app.ready();
  const wrong = fastify().register(fastifyReceiver, {
    ...options,
    handlr: () => {},
  } as typeof options);
  await expect(wrong).rejects.toThrow(
    /fastifyReceiver has no option "handlr"\. Did you mean handler\?/,
  );
  await expect(fastify().register(fastifyReceiver, {} as typeof options)).rejects.toThrow(
    /path is missing/,
  );
});

it("has its path under a prefix with parameters", async () => {
  const app = fastify();
  await app.register(receiver, { prefix: "/shops/:shop" });
  const request = async (method: "GET" | "POST") =>
    (await app.inject({ method, url: "/shops/berlin/webhooks" })).statusCode;
  expect([await request("GET"), await request("POST")]).toEqual([405, 401]);
});
