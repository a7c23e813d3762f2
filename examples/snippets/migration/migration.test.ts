/** How the hand-written receiver and the library differ: the table of the migration guide. */
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import type { Express } from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../demo/listen.ts";
import { createApp as byHand } from "./by-hand.ts";
import { createApp as byLibrary } from "./by-library.ts";

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
  createApp: (secret: string, save: () => void) => Express,
  rawBody: string,
  { timestamp, save = () => {} }: { timestamp?: number; save?: () => void } = {},
) {
  let effects = 0;
  const app = createApp(secret, () => {
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
    expect((await getResponses(byHand, rawBody)).statuses).toEqual(hand);
    expect((await getResponses(byLibrary, rawBody)).statuses).toEqual(library);
  });

  it("handles a delivery that is an hour old", async () => {
    const timestamp = hourAgo();
    expect((await getResponses(byHand, compact, { timestamp })).statuses).toEqual([
      204, 204,
    ]);
    expect(
      (await getResponses(byLibrary, compact, { timestamp })).statuses,
    ).toEqual([401, 401]);
  });

  it("handles a duplicate", async () => {
    expect(await getResponses(byHand, compact)).toEqual({
      statuses: [204, 204],
      effects: 2,
    });
    expect(await getResponses(byLibrary, compact)).toEqual({
      statuses: [204, 204],
      effects: 1,
    });
  });

  it("handles a database that is down", async () => {
    const save = () => {
      throw new Error("database down");
    };
    expect((await getResponses(byHand, compact, { save })).statuses).toEqual([
      204, 204,
    ]);
    expect((await getResponses(byLibrary, compact, { save })).statuses).toEqual([
      503, 503,
    ]);
  });
});
