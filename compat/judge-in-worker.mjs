/** workerd: judges the vectors with the built package for whoever posts them. */
import { verifyWebhook, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { judge } from "./judge.mjs";

export default {
  async fetch(request) {
    const { vectors } = await request.json();
    return Response.json(await judge({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors }));
  },
};
