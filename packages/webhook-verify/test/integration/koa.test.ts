/** The Koa adapter, in Koa 3 and 2, and other routes, which keep their parser. */
import { createServer } from "node:http";
import Router from "@koa/router";
import Koa from "koa";
import Koa2 from "koa-2";
import bodyParser from "koa-bodyparser";
import { expect, it, onTestFinished } from "vitest";
import { koaReceiver } from "../../src/adapters/koa.ts";
import { describeAdapter, listening, send } from "../adapter-contract.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

for (const [name, Framework] of [
  ["Koa 3", Koa],
  ["Koa 2", Koa2],
] as const) {
  describeAdapter(name, {
    start: async (options) => {
      const app = new Framework();
      app.use(new Router().all("/webhooks", koaReceiver(options)).routes());
      app.use(bodyParser());
      return listening(createServer(app.callback()));
    },
    startWithBodyParsed: async (options) => {
      const app = new Framework();
      app.use(bodyParser());
      app.use(new Router().all("/webhooks", koaReceiver(options)).routes());
      return listening(createServer(app.callback()));
    },
    fix: /used above app\.use\(bodyParser\(\)\)/,
  });
}

it("does not change the parser of other Koa routes", async () => {
  const app = new Koa();
  app.use(new Router().post("/webhooks", koaReceiver({ secret, handler: () => {} })).routes());
  app.use(bodyParser());
  app.use((context) => {
    context.body = (context.request as { body?: unknown }).body;
  });
  const { url, close } = await listening(createServer(app.callback()));
  onTestFinished(async () => void (await close()));
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(204);
  const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
  expect(await send(url.replace("/webhooks", "/orders"), order)).toMatchObject({
    status: 200,
    text: '{"points":1}',
  });
});
