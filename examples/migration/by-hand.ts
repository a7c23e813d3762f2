/** A receiver as one finds it in tutorials, with the mistakes that the migration guide names. Not to be pasted. */
// #region before
import { createHmac } from "node:crypto";
import express from "express";

export function createApp(secret: string, save: (cardId: string, balance: number) => void) {
  const app = express();
  app.use(express.json());
  app.post("/webhooks/loyalty", (request, response) => {
    const [, time = "", signature = ""] = /t=(.*),v1=(.*)/.exec(request.get("service-signature") ?? "") ?? [];
    const body = JSON.stringify(request.body); // not what was signed
    const expected = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
    if (signature !== expected) return void response.sendStatus(401); // its time tells how much was right
    response.sendStatus(204); // and if the next line fails, the event is lost
    const { type, data } = request.body;
    if (type === "balance.changed") save(data.passId, data.balance); // twice, when it comes twice
  });
  return app;
}
// #endregion
