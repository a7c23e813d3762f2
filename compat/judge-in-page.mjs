/** A page: offers the judge to whoever drives the browser. */
import { verifyWebhook, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { judge } from "./judge.mjs";

globalThis.judgeVectors = (vectors) => judge({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors });
