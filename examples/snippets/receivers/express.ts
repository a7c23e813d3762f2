/** A receiver in Express. */
// #region express
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";
import { webhooks } from "./webhooks.ts";

export const app = express();
app.post("/webhooks/loyalty", expressReceiver(webhooks));
app.use(express.json()); // after the webhook route
// #endregion
