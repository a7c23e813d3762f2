/**
 * Every adapter in its framework: the contract suite, what is particular to each, and the path of a
 * delivery. The suite "express-4" of compat runs it in Express 4.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createServer, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { send, startServer } from "@loyalty-cards/testing/http";
import { listOwnFunctions } from "@loyalty-cards/testing/own-functions";
import { createGate } from "@loyalty-cards/testing/resources";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import express from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { expressReceiver } from "../../src/adapters/express.ts";
import { fetchReceiver } from "../../src/adapters/fetch.ts";
import { lambdaReceiver } from "../../src/adapters/lambda.ts";
import { nextPagesHandler, nextRoute } from "../../src/adapters/next.ts";
import { nodeReceiver } from "../../src/adapters/node.ts";
import { memoryDedupe } from "../../src/index.ts";
import { describeAdapter } from "../adapter-contract.ts";
import { everyAdapter, serving } from "../every-adapter.ts";

for (const { name, listener, parsing, ...adapter } of everyAdapter) {
  describeAdapter(name, {
    ...adapter,
    start: async (options) => serving(await listener(options), "HTTP/1.1"),
    ...(parsing && {
      startWithBodyParsed: async (options) => serving(await parsing(options), "HTTP/1.1"),
    }),
  });
}

describeAdapter("Express behind express.raw", {
  forwardsEvents: true,
  readsBody: false,
  async start(options) {
    // A body that express.raw leaves unread is read by the receiver, which rejects it.
    const parser = express.raw({ type: () => true, limit: "2mb", inflate: false });
    const handleError: express.ErrorRequestHandler = (error, _request, response, _next) =>
      void response.sendStatus(error.status);
    const app = express().all("/webhooks", parser, expressReceiver(options)).use(handleError);
    return startServer(createServer(app));
  },
});

it("runs the shared test suite for each adapter", () => {
  const adapters = readdirSync(new URL("../../src/adapters", import.meta.url));
  const suite = readFileSync(new URL("../every-adapter.ts", import.meta.url), "utf8");
  const missing = adapters.filter((file) => !suite.includes(`/adapters/${file}`));
  expect(missing, "test/every-adapter.ts needs a row for each of these adapters").toEqual([]);
});

const handler = () => {};
const { body, headers } = signedDelivery(balanceChanged());
const toRequest = (init: RequestInit & { duplex?: "half" } = {}) =>
  new Request("https://shop.test/webhooks", { method: "POST", body, headers, ...init });

it("nodeReceiver responds 500 after a middleware that decodes the body", async () => {
  const log: string[] = [];
  const receive = nodeReceiver({ secret, handler, log: (line) => log.push(line) });
  const server = createServer((request, response) => {
    request.setEncoding("utf8");
    void receive(request, response);
  });
  const { url, close } = await startServer(server);
  expect((await send(url, { body, headers })).status).toBe(500);
  expect(log).toEqual([expect.stringMatching(/before anything reads its body/)]);
  await close();
});

describe("expressReceiver, with neither handler, afterResponse nor inbox", () => {
  /** @param next the handler after the receiver. */
  async function serve(...next: express.RequestHandler[]) {
    const log: string[] = [];
    const receiver = expressReceiver({ secret, log: (line) => log.push(line) });
    const server = await startServer(createServer(express().post("/webhooks", receiver, ...next)));
    onTestFinished(async () => void (await server.close()));
    return { url: server.url, log };
  }

  it("sets req.webhookEvent, and the next handler responds, except to a forged delivery", async () => {
    const finished: unknown[] = [];
    const { url, log } = await serve((request, response) => {
      response.once("finish", () => finished.push(request.webhookEvent?.id));
      response.send(request.webhookEvent?.id);
    });
    expect(await send(url, { body, headers })).toMatchObject({ status: 200, text: "evt_1" });
    const forged = signedDelivery(balanceChanged("evt_2"), { key: "whsec_other" });
    expect((await send(url, forged)).status).toBe(401);
    await expect.poll(() => finished).toEqual(["evt_1"]);
    expect(log).toEqual([expect.stringMatching(/rejected: mismatch/)]);
  });

  it("logs once how to fix the 404 when no handler follows", async () => {
    const { url, log } = await serve();
    for (const id of ["evt_1", "evt_2"])
      expect((await send(url, signedDelivery(balanceChanged(id)))).status).toBe(404);
    const explained =
      /expressReceiver has neither handler, afterResponse nor inbox, and no handler after it.* Write expressReceiver\(/;
    await expect.poll(() => log).toEqual([expect.stringMatching(explained)]);
  });

  it("throws without next, because nothing could handle the event", () => {
    const receive = expressReceiver({ secret }) as (...args: unknown[]) => unknown;
    expect(() => receive({}, {})).toThrow(
      /without next, and has no handler: write expressReceiver/,
    );
  });

  it("throws for dedupe, because it cannot know whether the next handler succeeds", () => {
    expect(() => expressReceiver({ secret, dedupe: memoryDedupe() })).toThrow(
      /dedupe needs handler/,
    );
  });
});

describe("fetchReceiver", () => {
  it("passes the work after the response to waitUntil", async () => {
    const seen: string[] = [];
    const kept: Promise<unknown>[] = [];
    const receive = fetchReceiver({ secret, afterResponse: (event) => void seen.push(event.id) });
    const context = { waitUntil: (promise: Promise<unknown>) => kept.push(promise) };
    const response = await receive(toRequest(), { SECRET: "x" }, context);
    expect([response.status, seen, kept.length]).toEqual([204, [], 1]);
    await Promise.all(kept);
    expect(seen).toEqual(["evt_1"]);
  });

  it("rejects a body over the limit at once, even of a cloned request", async () => {
    const request = toRequest();
    request.clone();
    expect((await fetchReceiver({ secret, handler, maxBodyBytes: 10 })(request)).status).toBe(413);
  });

  it.each([{}, { "content-length": String(body.length) }])(
    "responds 500 when another reader has locked the body of a request with the headers %j",
    async (announced) => {
      const log: string[] = [];
      const request = toRequest({ headers: { ...headers, ...announced } });
      request.body?.getReader();
      const receive = fetchReceiver({ secret, handler, log: (line) => log.push(line) });
      expect((await receive(request)).status).toBe(500);
      expect(log).toEqual([expect.stringMatching(/before anything reads its body/)]);
    },
  );

  // G15
  it("responds 413 when content-length is too low, and 400 when the body fails", async () => {
    const low = { headers: { ...headers, "content-length": "5" } };
    const receive = fetchReceiver({ secret, handler, maxBodyBytes: 10 });
    expect((await receive(toRequest(low))).status).toBe(413);
    const broken = new ReadableStream({
      pull: (controller) => controller.error(new Error("reset")),
    });
    expect((await receive(toRequest({ ...low, body: broken, duplex: "half" }))).status).toBe(400);
  });
});

describe("lambdaReceiver", () => {
  it.each<[string, Parameters<ReturnType<typeof lambdaReceiver>>[0], number]>([
    ["the console's test event", {}, 405],
    [
      "an event without headers or body",
      { httpMethod: "POST", headers: null, multiValueHeaders: null, body: null },
      401,
    ],
    ["a schedule", { source: "aws.events", "detail-type": "Scheduled Event" } as object, 405],
    [
      "an event with an empty list of headers",
      { httpMethod: "POST", headers, multiValueHeaders: {}, body: String(Buffer.from(body)) },
      204,
    ],
    ["invalid base64", { httpMethod: "POST", headers, body: "%%%", isBase64Encoded: true }, 400],
  ])("responds to %s without throwing", async (_name, event, status) => {
    expect((await lambdaReceiver({ secret, handler })(event)).statusCode).toBe(status);
  });
});

describe("nextRoute and nextPagesHandler", () => {
  it("pass the work after the response to `after` of next/server", async () => {
    const tasks: (() => Promise<void>)[] = [];
    const seen: string[] = [];
    const route = nextRoute({
      secret,
      afterResponse: (event) => void seen.push(event.id),
      after: (task) => tasks.push(task),
    });
    const response = await route(toRequest());
    expect([response.status, seen]).toEqual([204, []]);
    for (const task of tasks) await task();
    expect(seen).toEqual(["evt_1"]);
  });

  it("call afterResponse when `after` of next/server throws", async () => {
    const processed = createGate();
    const log: string[] = [];
    const route = nextRoute({
      secret,
      afterResponse: () => processed.open(),
      log: (line) => log.push(line),
      after() {
        throw new Error("outside a request scope");
      },
    });
    expect((await route(toRequest())).status).toBe(204);
    await processed.opened;
    expect(log).toEqual([
      expect.stringMatching(/afterResponse runs, but the platform may end before it\.$/),
    ]);
  });

  it.each([nextRoute, nextPagesHandler])(
    "do not call a secret function during `next build`, which may run without secrets: %o",
    async (create) => {
      const calls: string[] = [];
      for (const phase of ["phase-production-build", "phase-production-server"]) {
        process.env["NEXT_PHASE"] = phase;
        const loadSecret = () => {
          calls.push(phase);
          return secret;
        };
        create({ secret: loadSecret, handler });
        await new Promise((resolve) => setTimeout(resolve, 0)); // after the timers that were started before
      }
      expect(calls).toEqual(["phase-production-server"]);
    },
  );

  it("know `after` only in the App Router", () => {
    const options = { secret, handler, after: () => {} };
    expect(nextRoute(options)).toBeTypeOf("function");
    expect(() => nextRoute(undefined as never)).toThrow(
      /^nextRoute needs options: write nextRoute\(/,
    );
    expect(() => nextPagesHandler(options)).toThrow(/nextPagesHandler has no option "after"/);
    expect(() => nextRoute({ ...options, after: true as never })).toThrow(
      /^after must be the func/,
    );
  });

  it.each([
    [nextRoute, new IncomingMessage(new Socket()), /^nextRoute takes .*use nextPagesHandler/],
    [nextPagesHandler, toRequest(), /^nextPagesHandler takes .*use nextRoute/],
    [nodeReceiver, new IncomingMessage(new Socket()), /a request and a response .* in this order/],
    [
      fetchReceiver,
      { arrayBuffer() {} },
      /^fetchReceiver takes a Request: in Hono context\.req\.raw/,
    ],
    [
      expressReceiver,
      { raw: {}, headers: {} },
      /^expressReceiver takes .*In Fastify use fastifyReceiver/,
    ],
    [fetchReceiver, { raw: {}, headers: {} }, /^fetchReceiver takes .* in Fastify fastifyReceiver/],
    [lambdaReceiver, toRequest(), /^lambdaReceiver takes .*use fetchReceiver/],
    [
      lambdaReceiver,
      Object.assign(new IncomingMessage(new Socket()), { url: "/" }),
      /^lambdaReceiver takes .*In Express use expressReceiver/,
    ],
  ])("say in the other router which function to use: %o", async (create, request, message) => {
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const receive = create({ secret, handler, log }) as (request: unknown) => Promise<unknown>;
    await expect(receive(request)).rejects.toThrow(message);
    expect(lines).toEqual([expect.stringMatching(/^webhook-verify: \w+ takes an? /)]);
  });
});

const createDelivery = `
  import { createServer, request } from "node:http";
  import { once } from "node:events";
  import express from "express";
  import { onEvents, signWebhookSync } from "@loyalty-cards/webhook-verify";
  import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
  import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
  import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
  const options = {
    secret: "whsec_test",
    handler: onEvents({ "balance.changed": () => {}, otherTypes: () => {} }),
  };
  const body = '${JSON.stringify(balanceChanged())}';
  const signature = signWebhookSync({ rawBody: body, secret: "whsec_test" });
  const init = { method: "POST", headers: { "content-length": String(body.length), "service-signature": signature } };
  const requireAccepted = (status) => {
    if (status !== 204) throw new Error("status " + status);
  };
  async function deliverTo(listener) {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    return async () => {
      const sent = request({ port: server.address().port, host: "127.0.0.1", path: "/webhooks", ...init }).end(body);
      const [response] = await once(sent, "response");
      requireAccepted(response.resume().statusCode);
    };
  }
`;

it.each([
  ["node:http", "await deliverTo(nodeReceiver(options))"],
  ["Express", `await deliverTo(express().post("/webhooks", expressReceiver(options)))`],
  [
    "a fetch handler",
    `async () => requireAccepted((await receive(new Request("https://shop.test/", { ...init, body }))).status)`,
  ],
])(
  "receives a delivery in %s through 11 files and 55 functions of ours at most",
  async (_name, operation) => {
    const { files, functions } = await listOwnFunctions(
      `${createDelivery} const receive = fetchReceiver(options); const operation = ${operation};`,
    );
    expect(functions).toContain("packages/webhook-verify/src/receiver.ts runSteps");
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(11);
    expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(55);
  },
);
