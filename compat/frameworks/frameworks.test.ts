/** `nodeReceiver` in Koa 3, and in NestJS on Express and on Fastify, mounted as the guide shows. */
import "reflect-metadata";
import { createServer } from "node:http";
import Router from "@koa/router";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { Controller, type INestApplication, Module, Post, Req } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import Koa from "koa";
import bodyParser from "koa-bodyparser";
import { expect, it, onTestFinished } from "vitest";
import {
  describeAdapter,
  listening,
  type RunningServer,
  send,
} from "../../packages/webhook-verify/test/adapter-contract.ts";
import {
  balanceChanged,
  secret,
  signedDelivery,
} from "../../packages/webhook-verify/test/signed-delivery.ts";
import { app as koaApp } from "./koa.ts";
import { receiveWebhooks } from "./nest.ts";
import { saved } from "./webhooks.ts";

process.env["LOYALTY_SIGNING_SECRET"] = secret; // read with the first delivery

type Receive = ReturnType<typeof nodeReceiver>;

const inKoa = (receive: Receive) =>
  new Router()
    .all("/webhooks", async (context) => {
      context.respond = false;
      await receive(context.req, context.res);
    })
    .routes();

describeAdapter("Koa", {
  start: (options) => {
    const app = new Koa().use(inKoa(nodeReceiver(options))).use(bodyParser());
    return listening(createServer(app.callback()));
  },
  startWithBodyParsed: (options) => {
    const app = new Koa().use(bodyParser()).use(inKoa(nodeReceiver(options)));
    return listening(createServer(app.callback()));
  },
  fix: /before anything reads its body/,
});

const platforms = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() };

/** An application whose other route responds with the parsed body. Decorators are called as functions. */
function createNestApp(platform: keyof typeof platforms): Promise<INestApplication> {
  class Orders {
    create(request: { body: unknown }) {
      return request.body;
    }
  }
  Controller("orders")(Orders);
  const { prototype } = Orders;
  Post()(prototype, "create", Object.getOwnPropertyDescriptor(prototype, "create") as PropertyDescriptor);
  Req()(prototype, "create", 0);
  class App {}
  Module({ controllers: [Orders] })(App);
  return NestFactory.create(App, platforms[platform](), { logger: false, abortOnError: false });
}

async function listenNest(app: INestApplication): Promise<RunningServer> {
  await app.listen(0, "127.0.0.1");
  return { url: `${await app.getUrl()}/webhooks`, close: () => app.close() };
}

for (const platform of ["Express", "Fastify"] as const) {
  describeAdapter(`NestJS on ${platform}`, {
    start: async (options) => {
      const app = await createNestApp(platform);
      app.use("/webhooks", nodeReceiver(options));
      return listenNest(app);
    },
  });

  it(`stores a balance in the program of the guide, in NestJS on ${platform}, and does not change other routes`, async () => {
    const app = await createNestApp(platform);
    receiveWebhooks(app);
    const { url, close } = await listenNest(app);
    onTestFinished(async () => void (await close()));
    expect((await send(`${url}/loyalty`, signedDelivery(balanceChanged()))).status).toBe(204);
    expect(saved.splice(0)).toEqual([["card_1", 120]]);
    const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
    const response = await send(url.replace("/webhooks", "/orders"), order);
    expect(response).toMatchObject({ status: 201, text: '{"points":1}' });
  });
}

it("stores a balance in the program of the guide, in Koa, and does not change other routes", async () => {
  koaApp.use(bodyParser());
  koaApp.use((context) => {
    context.body = (context.request as { body?: unknown }).body;
  });
  const { url, close } = await listening(createServer(koaApp.callback()));
  onTestFinished(async () => void (await close()));
  expect((await send(`${url}/loyalty`, signedDelivery(balanceChanged()))).status).toBe(204);
  expect(saved.splice(0)).toEqual([["card_1", 120]]);
  const order = { body: '{"points":1}', headers: { "content-type": "application/json" } };
  const response = await send(url.replace("/webhooks", "/orders"), order);
  expect(response).toMatchObject({ status: 200, text: '{"points":1}' });
});
