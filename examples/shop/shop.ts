/** A shop's web server: the webhook route first, because it needs the bytes; then the parsers; then the rest. */
// #region shop
// shop.ts
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import express, { type Express } from "express";
import { receiveWebhooks } from "./receive-webhooks.ts";
import { signUp } from "./sign-up.ts";
import type { Users } from "./users.ts";

export interface ShopSettings {
  baseUrl: string; // LOYALTY_URL
  apiKey: string; // LOYALTY_API_KEY: stays on the server
  idempotencyNamespace: string; // "production", "staging": one name for each user table
  templateId: string; // LOYALTY_TEMPLATE_ID
  signingSecret: string; // LOYALTY_SIGNING_SECRET
}

export function createShop({ templateId, signingSecret, ...service }: ShopSettings, users: Users): Express {
  const loyalty = createIssuingClient({ ...service, deadlineMs: 5_000 }); // the longest that a sign-up waits
  const app = express();
  app.post("/webhooks/loyalty", receiveWebhooks(signingSecret, users));
  app.use(express.json(), express.urlencoded({ extended: false }));
  app.post("/sign-up", signUp(loyalty, templateId, users));
  return app;
}
// #endregion
