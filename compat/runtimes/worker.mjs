/** workerd: runs the setup in the request on the built packages. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { verifyWebhook, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { runSetup } from "./setup.mjs";

const packages = { createIssuingClient, verifyWebhook, verifyWebhookSync, fetchReceiver };

export default {
  async fetch(request) {
    return Response.json(await runSetup(await request.json(), packages));
  },
};
