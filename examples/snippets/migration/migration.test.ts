/** How the hand-written receiver and the library differ: the table of the migration guide. */
import { createHmac } from "node:crypto";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import express from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../demo/listen.ts";
import { createApp as createWithLibrary, type Save } from "./by-library.ts";

/** A receiver from a typical tutorial, with the mistakes that the migration guide explains. Do not copy it. */
// #region before
export function createApp(secret: string, save: Save) {
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
const hourAgo = () => Math.floor(Date.now() / 1000) - 3600;

async function getResponses(
  create: typeof createApp,
  rawBody: string,
  { timestamp, save = () => {} }: { timestamp?: number; save?: () => void } = {},
) {
  let effects = 0;
  const app = create(secret, () => {
    effects++;
    save();
  });
  const { url, close } = await listen(app);
  onTestFinished(close);
  const signature = signWebhookSync({
    rawBody,
    secret,
    ...(timestamp !== undefined && { timestamp }),
  });
  const headers = {
    "content-type": "application/json",
    "service-signature": signature,
  };
  const statuses: number[] = [];
  for (let copy = 0; copy < 2; copy++) {
    statuses.push(
      (
        await fetch(`${url}/webhooks/loyalty`, {
          method: "POST",
          headers,
          body: rawBody,
        })
      ).status,
    );
  }
  return { statuses, effects };
}

describe("the receiver before and after the migration", () => {
  it.each([
    ["a body with a space", compact.replace(":", ": "), [401, 401], [204, 204]],
    [
      "a number written as 5.0",
      compact.replace('"balance":5', '"balance":5.0'),
      [401, 401],
      [204, 204],
    ],
  ])("handles %s", async (_name, rawBody, hand, library) => {
    expect((await getResponses(createApp, rawBody)).statuses).toEqual(hand);
    expect((await getResponses(createWithLibrary, rawBody)).statuses).toEqual(
      library,
    );
  });

  it("handles a delivery that is an hour old", async () => {
    const timestamp = hourAgo();
    expect(
      (await getResponses(createApp, compact, { timestamp })).statuses,
    ).toEqual([204, 204]);
    expect(
      (await getResponses(createWithLibrary, compact, { timestamp })).statuses,
    ).toEqual([401, 401]);
  });

  it("handles a duplicate", async () => {
    expect(await getResponses(createApp, compact)).toEqual({
      statuses: [204, 204],
      effects: 2,
    });
    expect(await getResponses(createWithLibrary, compact)).toEqual({
      statuses: [204, 204],
      effects: 1,
    });
  });

  it("handles a database that is down", async () => {
    const save = () => {
      throw new Error("database down");
    };
    expect((await getResponses(createApp, compact, { save })).statuses).toEqual([
      204, 204,
    ]);
    expect(
      (await getResponses(createWithLibrary, compact, { save })).statuses,
    ).toEqual([503, 503]);
  });
});
