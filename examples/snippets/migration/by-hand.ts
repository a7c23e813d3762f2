/** A receiver from a typical tutorial, with the mistakes that the migration guide explains. Do not copy it. */
// #region before
import { createHmac } from "node:crypto";
import express from "express";

export function createApp(
  secret: string,
  save: (cardId: string, balance: number) => void,
) {
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
