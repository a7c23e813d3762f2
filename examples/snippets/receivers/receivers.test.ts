/** Each receiver of the guides takes a delivery of the mock service, over real HTTP; and how a hand-written receiver and the library differ: the table of the migration guide. */
import { createHmac } from "node:crypto";
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { listen } from "@loyalty-cards/testing/resources";
import {
  memoryDedupe,
  onEvents,
  signWebhookSync,
} from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";
import { expect, it } from "vitest";
import { openCardWithReceiver } from "../../test/service.ts";
import { saved } from "./balances.ts";
import { app as expressApp } from "./express.ts";
import { app as fastifyApp } from "./fastify.ts";
import { app as honoApp } from "./hono.ts";
import { handler } from "./lattice.ts";
import { POST } from "./next-route.ts";
import { handle } from "./verify.ts";

const apps: Record<string, () => RequestListener | Promise<RequestListener>> = {
  Express: () => expressApp,
  Fastify: async () => {
    await fastifyApp.ready();
    return fastifyApp.routing;
  },
  Hono: () => getRequestListener(honoApp.fetch),
  Next: () => getRequestListener(POST),
};

it.each(Object.entries(apps))(
  "receives a delivery on %s",
  async (_name, createListener) => {
    const { secret, cardId, listen, buy } = await openCardWithReceiver();
    process.env["LOYALTY_SIGNING_SECRET"] = secret;
    listen(await createListener());
    expect(await buy(12)).toBe(204);
    expect(saved.at(-1)).toEqual([cardId, 12]);
  },
);

it("receives events of both versions of VPC Lattice", async () => {
  process.env["LOYALTY_SIGNING_SECRET"] = "whsec_1";
  const body = `{"id":"evt_1","type":"balance.changed",
    "createdAt":"2026-01-01T00:00:00.000Z","data":{"passId":"card_l","balance":7}}`;
  const signature = signWebhookSync({ rawBody: body, secret: "whsec_1" });
  const headers = { host: "shop.test", "service-signature": signature };
  const lists = { "service-signature": [signature] };
  const base64 = Buffer.from(body).toString("base64");
  const read = async (event: Parameters<typeof handler>[0]) =>
    (await handler(event)).statusCode;
  const method = "POST";
  const is_base64_encoded = true;
  expect([
    await read({ method, headers, body: base64, is_base64_encoded }),
    await read({ method, headers, body, isBase64Encoded: false }),
    await read({ method, headers: lists, body, isBase64Encoded: false }),
    await read({
      method,
      headers: lists,
      body: `${body} `,
      isBase64Encoded: false,
    }),
    await read({ method: "GET", headers }),
  ]).toEqual([204, 204, 204, 401, 405]);
  expect(saved.at(-1)).toEqual(["card_l", 7]);
});

it("verifies a delivery without a receiver", async () => {
  const rawBody = Buffer.from(
    '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"}',
  );
  const signature = signWebhookSync({ rawBody, secret: "whsec_1" });
  expect(await handle(rawBody, signature, "whsec_1")).toMatchObject({
    status: 204,
    event: { type: "ping" },
  });
  expect(await handle(rawBody, signature, "whsec_2")).toEqual({ status: 401 });
});

type Save = (cardId: string, balance: number) => void;

/** A receiver from a typical tutorial, with the mistakes that the migration guide explains. Do not copy it. */
// #region before
function createOwnApp(secret: string, save: Save) {
  const app = express();
  app.use(express.json());
  app.post("/webhooks/loyalty", (request, response) => {
    const [, time = "", signature = ""] =
      /t=(.*),v1=(.*)/.exec(request.get("service-signature") ?? "") ?? [];
    const body = JSON.stringify(request.body); // not the bytes that were signed
    const expected = createHmac("sha256", secret)
      .update(`${time}.${body}`)
      .digest("hex");
    // its duration reveals how much is correct
    if (signature !== expected) return void response.sendStatus(401);
    response.sendStatus(204); // if the next line fails, the event is lost
    const { type, data } = request.body;
    // applied twice for a duplicate
    if (type === "balance.changed") save(data.passId, data.balance);
  });
  return app;
}
// #endregion

/** The same receiver after the migration. */
// #region after
function createApp(secret: string, save: Save) {
  const app = express();
  app.post(
    "/webhooks/loyalty",
    expressReceiver({
      secret,
      dedupe: memoryDedupe(),
      handler: onEvents({
        "balance.changed": ({ data }) => save(data.passId, data.balance),
        otherTypes: () => {},
      }),
    }),
  );
  app.use(express.json());
  return app;
}
// #endregion

const secret = "whsec_migration";
const event = {
  id: "evt_1",
  type: "balance.changed",
  createdAt: "2026-11-20T10:00:00Z",
  data: { passId: "card_1", balance: 5 },
};
const compact = JSON.stringify(event);
const withSpace = compact.replace(":", ": ");
const withZero = compact.replace('"balance":5', '"balance":5.0');
const timestamp = Math.floor(Date.now() / 1000) - 3_600;
const save = () => {
  throw new Error("database down");
};

type Result = [first: number, second: number, effects: number];
type Delivery = { rawBody?: string; timestamp?: number; save?: () => void };
/** The statuses of two deliveries, and how often the balance was saved. */
it.each<[string, Result, Result, Delivery]>([
  ["a body with a space", [401, 401, 0], [204, 204, 1], { rawBody: withSpace }],
  ["a number written as 5.0", [401, 401, 0], [204, 204, 1], { rawBody: withZero }],
  ["a delivery that is an hour old", [204, 204, 2], [401, 401, 0], { timestamp }],
  ["a duplicate", [204, 204, 2], [204, 204, 1], {}],
  ["a database that is down", [204, 204, 2], [503, 503, 2], { save }],
])(
  "the hand-written receiver and the library differ for %s",
  async (_case, byHand, library, { rawBody = compact, timestamp, save }) => {
    const signed = {
      rawBody,
      secret,
      ...(timestamp !== undefined && { timestamp }),
    };
    const headers = {
      "content-type": "application/json",
      "service-signature": signWebhookSync(signed),
    };
    for (const [create, result] of [
      [createOwnApp, byHand],
      [createApp, library],
    ] as const) {
      let effects = 0;
      const app = create(secret, () => {
        effects++;
        save?.();
      });
      const url = `${await listen(app)}/webhooks/loyalty`;
      const init = { method: "POST", headers, body: rawBody };
      const send = async () => (await fetch(url, init)).status;
      expect([await send(), await send(), effects]).toEqual(result);
    }
  },
);
