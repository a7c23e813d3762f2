/** The path of a delivery: how many of our files and functions a reader has to follow. */
import { listOwnFunctions } from "@loyalty-cards/internal/test/own-functions";
import { expect, it } from "vitest";

const createDelivery = `
  import { createHmac } from "node:crypto";
  import { createServer, request } from "node:http";
  import { once } from "node:events";
  import express from "express";
  import { onEvents } from "@loyalty-cards/webhook-verify";
  import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
  import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
  import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
  const options = {
    secret: "whsec_test",
    handler: onEvents({ "balance.changed": () => {}, otherTypes: () => {} }),
  };
  const operation_ = { id: "op_1", type: "purchase" };
  const data = { passId: "card_1", customerId: "cus_1", balance: 120, change: 20, operation: operation_ };
  const body = JSON.stringify({ id: "evt_1", type: "balance.changed", createdAt: new Date().toISOString(), data });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac("sha256", "whsec_test").update(t + "." + body).digest("hex");
  const init = { method: "POST", headers: { "content-length": String(body.length), "service-signature": "t=" + t + ",v1=" + v1 } };
  const requireAccepted = (status) => {
    if (status !== 204) throw new Error("status " + status);
  };
  async function deliverTo(listener) {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    return async () => {
      const sent = request({ port: server.address().port, host: "127.0.0.1", path: "/webhooks", ...init }).end(body);
      const [response] = await once(sent, "response");
      requireAccepted(response.resume().statusCode);
    };
  }
`;

it.each([
  ["node:http", "await deliverTo(nodeReceiver(options))"],
  ["Express", `await deliverTo(express().post("/webhooks", expressReceiver(options)))`],
  [
    "a fetch handler",
    `async () => requireAccepted((await receive(new Request("https://shop.test/", { ...init, body }))).status)`,
  ],
])(
  "receives a delivery in %s through 10 files and 45 functions of ours at most",
  async (_name, operation) => {
    const { files, functions } = await listOwnFunctions(
      `${createDelivery} const receive = fetchReceiver(options); const operation = ${operation};`,
    );
    expect(functions).toContain("packages/webhook-verify/src/receiver.ts verifyAndHandle");
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(10);
    expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(45);
  },
);
