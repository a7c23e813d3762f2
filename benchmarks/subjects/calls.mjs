/** What a delivery costs with many secrets, and a call with many others in flight. */
import { createHmac } from "node:crypto";
import { perCall } from "../measure.mjs";

export default {
  title: "Growth: secrets, and calls in flight",
  notes:
    "Linear in the secrets: all are tried, so that the time does not say which one matched. Constant for each call in flight; of 5 000 calls with 1 000 in flight, every fifth opens a connection.",
  figures: { cpu: { label: "CPU µs", compare: "none" } },
  own: [],
  panels: [1, 5, 20]
    .map((secrets) => ({ name: `${secrets} secret${secrets === 1 ? "" : "s"}`, secrets }))
    .concat([1, 10, 100, 1_000].map((calls) => ({ name: `${calls} in flight`, calls }))),
  packages: [],
  open: ({ secrets, calls }) => (calls === undefined ? openReceiver(secrets) : openClient(calls)),
};

async function openReceiver(count) {
  const { createReceiver } = await import("@loyalty-cards/webhook-verify");
  const secret = Array.from({ length: count }, (_, index) => `whsec_${index}`);
  const receive = createReceiver({ secret, handler: () => {} });
  const event = { id: "evt_1", type: "ping", createdAt: new Date().toISOString(), data: {} };
  const rawBody = Buffer.from(JSON.stringify(event));
  const t = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", "whsec_0").update(`${t}.`).update(rawBody).digest("hex");
  const headers = { "service-signature": `t=${t},v1=${signature}` };
  const deliver = async () => {
    const { status } = await receive({ method: "POST", headers, rawBody });
    if (status !== 204) throw new Error(`status ${status}`);
  };
  return {
    variants: { receiver: async () => ({ cpu: (await perCall(deliver, 10_000)).cpu }) },
  };
}

async function openClient(inFlight) {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  const { startModule } = await import("../measure.mjs");
  const service = new URL("../issuing-service.mjs", import.meta.url);
  const { child, message: port } = await startModule(service);
  const client = createIssuingClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "k" });
  const consents = { privacy: { version: "1" } };
  const request = { customer: { phone: "+48600100200", consents } };
  let userId = 0;
  const issue = () => client.issueCard("t", request, { userId: ++userId });
  return {
    variants: { issueCard: async () => ({ cpu: (await perCall(issue, 5_000, inFlight)).cpu }) },
    close: () => child.kill(),
  };
}
