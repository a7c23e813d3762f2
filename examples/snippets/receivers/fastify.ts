/** A receiver in Fastify. */
// #region fastify
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import fastify from "fastify";
import { webhooks } from "./webhooks.ts";

export const app = fastify();
app.register(fastifyReceiver, { path: "/webhooks/loyalty", ...webhooks });
// #endregion
