/** A page in a browser: offers `verifyVectors` to the program that drives the browser. */
import { verifyWebhook, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { verifyVectors } from "./signature-vectors.mjs";

globalThis.verifyVectors = (vectors) =>
  verifyVectors({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors });
