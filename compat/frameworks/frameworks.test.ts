/**
 * `nodeReceiver` in Koa 3, and in NestJS on Express and on Fastify, mounted as the guide shows,
 * beside a route that reads a parsed body.
 */
import "reflect-metadata";
import { createServer } from "node:http";
import { send, startServer } from "@loyalty-cards/testing/http";
import { balanceChanged, secret, signedDelivery } from "@loyalty-cards/testing/signed-delivery";
import { Controller, Module, Post, Req } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import bodyParser from "koa-bodyparser";
import { expect, it } from "vitest";
import { app as koaApp } from "./koa.ts";
import { receiveWebhooks } from "./nest.ts";
import { saved } from "./webhooks.ts";

process.env["LOYALTY_SIGNING_SECRET"] = secret; // read with the first delivery

function startKoa() {
  koaApp.use(bodyParser());
  koaApp.use((context) => {
    context.body = (context.request as { body?: unknown }).body;
  });
  return startServer(createServer(koaApp.callback()));
}

/** Decorators are called as functions. */
async function startNest(platform: ExpressAdapter | FastifyAdapter) {
  class Orders {
    create(request: { body: unknown }) {
      return request.body;
    }
  }
  Controller("orders")(Orders);
  const { prototype } = Orders;
  Post()(
    prototype,
    "create",
    Object.getOwnPropertyDescriptor(prototype, "create") as PropertyDescriptor,
  );
  Req()(prototype, "create", 0);
  class App {}
  Module({ controllers: [Orders] })(App);
  const app = await NestFactory.create(App, platform, { logger: false, abortOnError: false });
  receiveWebhooks(app);
  await app.listen(0, "127.0.0.1");
  return { url: `${await app.getUrl()}/webhooks`, close: () => app.close() };
}

it.each([
  ["Koa", startKoa],
  ["NestJS on Express", () => startNest(new ExpressAdapter())],
  ["NestJS on Fastify", () => startNest(new FastifyAdapter())],
])(
  "stores a balance in the program of the guide, rejects a changed byte, and does not change other routes: %s",
  async (_name, start) => {
    const { url, close } = await start();
    try {
      const delivery = signedDelivery(balanceChanged());
      const changed = { ...delivery, body: delivery.body.replace("120", "920") };
      expect((await send(`${url}/loyalty`, changed)).status).toBe(401);
      expect((await send(`${url}/loyalty`, delivery)).status).toBe(204);
      expect(saved.splice(0)).toEqual([["card_1", 120]]);
      const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
      expect((await send(url.replace("/webhooks", "/orders"), order)).text).toBe('{"points":1}');
    } finally {
      await close();
    }
  },
);
