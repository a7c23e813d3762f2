/** How the hand-written receiver and the library differ: the table of the migration guide. */
import { createHmac } from "node:crypto";
import {
  memoryDedupe,
  onEvents,
  signWebhookSync,
} from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";
import { expect, it } from "vitest";
import { listen } from "./service.ts";

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
  createdAt: "2026-11-20T10:00:00.000Z",
  data: {
    passId: "card_1",
    customerId: "cus_1",
    balance: 5,
    change: 5,
    operation: { id: "op_1", type: "purchase" },
  },
};
const compact = JSON.stringify(event);

/** Sends a delivery twice to both receivers. @returns the statuses of each, and how often the balance was saved. */
async function compare(
  rawBody: string,
  { timestamp, save = () => {} }: { timestamp?: number; save?: () => void } = {},
) {
  const signed = { rawBody, secret, ...(timestamp !== undefined && { timestamp }) };
  const headers = {
    "content-type": "application/json",
    "service-signature": signWebhookSync(signed),
  };
  const results = [];
  for (const create of [createOwnApp, createApp]) {
    let effects = 0;
    const app = create(secret, () => {
      effects++;
      save();
    });
    const url = await listen(app);
    const send = async () => {
      const init = { method: "POST", headers, body: rawBody };
      return (await fetch(`${url}/webhooks/loyalty`, init)).status;
    };
    results.push([await send(), await send(), effects]);
  }
  return { byHand: results[0], library: results[1] };
}

it.each([
  ["a body with a space", compact.replace(":", ": ")],
  ["a number written as 5.0", compact.replace('"balance":5', '"balance":5.0')],
])("differs for %s", async (_name, rawBody) => {
  const result = { byHand: [401, 401, 0], library: [204, 204, 1] };
  expect(await compare(rawBody)).toEqual(result);
});

it("differs for a delivery that is an hour old", async () => {
  const timestamp = Math.floor(Date.now() / 1000) - 3600;
  const result = { byHand: [204, 204, 2], library: [401, 401, 0] };
  expect(await compare(compact, { timestamp })).toEqual(result);
});

it("differs for a duplicate", async () => {
  const result = { byHand: [204, 204, 2], library: [204, 204, 1] };
  expect(await compare(compact)).toEqual(result);
});

it("differs while the database is down", async () => {
  const save = () => {
    throw new Error("database down");
  };
  const result = { byHand: [204, 204, 2], library: [503, 503, 2] };
  expect(await compare(compact, { save })).toEqual(result);
});
