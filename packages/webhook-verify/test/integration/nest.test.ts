/** The NestJS adapter, on Express and on Fastify: in main.ts, and in a controller. */
import "reflect-metadata";
import {
  Controller,
  type INestApplication,
  Module,
  type NestApplicationOptions,
  Post,
  Req,
  Res,
} from "@nestjs/common";
import { type AbstractHttpAdapter, NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { describe, expect, it, onTestFinished } from "vitest";
import { nestReceiver } from "../../src/adapters/nest.ts";
import type { ReceiverOptions } from "../../src/index.ts";
import { describeAdapter, type RunningServer, send } from "../adapter-contract.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

const platforms: [string, () => AbstractHttpAdapter][] = [
  ["Express", () => new ExpressAdapter()],
  ["Fastify", () => new FastifyAdapter()],
];

async function listening(app: INestApplication): Promise<RunningServer> {
  await app.listen(0, "127.0.0.1");
  return { url: `${await app.getUrl()}/webhooks`, close: () => app.close() };
}

/** An application whose other routes respond with the parsed body. Decorators are called as functions. */
function shop(
  platform: AbstractHttpAdapter,
  options: NestApplicationOptions = {},
  receive?: ReturnType<typeof nestReceiver>,
) {
  class Orders {
    create(request: { body: unknown }) {
      return request.body;
    }
  }
  class Webhooks {
    handle(...exchange: Parameters<ReturnType<typeof nestReceiver>>) {
      return receive?.(...exchange);
    }
  }
  const route = (type: { prototype: object }, path: string, method: string) => {
    Controller(path)(type as never);
    const { prototype } = type;
    Post()(prototype, method, Object.getOwnPropertyDescriptor(prototype, method) as PropertyDescriptor);
    Req()(prototype, method, 0);
  };
  route(Orders, "orders", "create");
  route(Webhooks, "webhooks", "handle");
  Res()(Webhooks.prototype, "handle", 1);
  class App {}
  Module({ controllers: receive === undefined ? [Orders] : [Orders, Webhooks] })(App);
  return NestFactory.create(App, platform, { logger: false, abortOnError: false, ...options });
}

for (const [name, platform] of platforms) {
  describeAdapter(`NestJS on ${name}`, {
    start: async (options) => {
      const receive = nestReceiver(options);
      const app = await shop(platform());
      app.use("/webhooks", receive);
      return listening(app);
    },
    startWithBodyParsed: async (options) => listening(await shop(platform(), {}, nestReceiver(options))),
    fix: /before app\.listen\(\).* rawBody: true/,
  });

  describe(`NestJS on ${name}`, () => {
    async function serve(options: Partial<ReceiverOptions> = {}) {
      const receive = nestReceiver({ secret, handler: () => {}, ...options });
      const server = await listening(await shop(platform(), { rawBody: true }, receive));
      onTestFinished(async () => void (await server.close()));
      return server.url;
    }

    it("verifies the bytes of rawBody in a controller", async () => {
      const seen: string[] = [];
      const url = await serve({ handler: ({ id }) => void seen.push(id) });
      const { body, headers } = signedDelivery(`${JSON.stringify(balanceChanged())}\n `);
      expect((await send(url, { body, headers })).status).toBe(204);
      expect((await send(url, { body: body.replace("120", "121"), headers })).status).toBe(401);
      const unsigned = { "content-type": "application/json" };
      expect((await send(url, { body, headers: unsigned })).status).toBe(401);
      expect(seen).toEqual(["evt_1"]);
    });

    it("does not change the parser of other routes", async () => {
      const app = await shop(platform());
      app.use("/webhooks", nestReceiver({ secret, handler: () => {} }));
      const { url, close } = await listening(app);
      onTestFinished(async () => void (await close()));
      expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(204);
      const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
      expect(await send(url.replace("/webhooks", "/orders"), order)).toMatchObject({
        status: 201,
        text: '{"points":1}',
      });
    });
  });
}
