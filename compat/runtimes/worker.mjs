/** workerd: runs the fault matrix or the signature vectors on the built package; the request says which. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { verifyWebhook, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { runFaultMatrix } from "./fault-matrix.mjs";
import { verifyVectors } from "./signature-vectors.mjs";

export default {
  async fetch(request) {
    const { vectors, ...setup } = await request.json();
    return Response.json(
      vectors === undefined
        ? await runFaultMatrix({ createIssuingClient, ...setup })
        : await verifyVectors({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors }),
    );
  },
};
