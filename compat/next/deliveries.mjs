/** Sends deliveries that the service would not send: changed, too large, with unusual bytes. */
import { request as httpRequest } from "node:http";
import { signWebhook } from "../../packages/webhook-verify/dist/index.js";

export const balanceChanged = (cardId, data = {}) => ({
  id: `evt_${cardId}`,
  type: "balance.changed",
  createdAt: "2026-11-20T10:00:00.000Z",
  data: {
    passId: cardId,
    customerId: "cus_1",
    balance: 12,
    change: 12,
    operation: { id: "op_1", type: "purchase" },
    ...data,
  },
});

/** Sends `sent` with the signature of `body`; with `announcedBytes`, that content-length and an incomplete body. */
export async function deliver(url, secret, body, { sent = body, chunked = false, announcedBytes } = {}) {
  const length = announcedBytes ?? Buffer.byteLength(sent);
  const headers = {
    "content-type": "application/json",
    "service-signature": await signWebhook({ rawBody: body, secret }),
    ...(!chunked && { "content-length": length }),
  };
  return post(url, "POST", headers, { body: sent, isWhole: announcedBytes === undefined });
}

/** @returns status and headers of the response, which may arrive before the body is complete. */
export function post(url, method, headers, { body = "", isWhole = true } = {}) {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      response.resume();
      if (!isWhole) request.destroy();
      resolve({ status: response.statusCode, headers: response.headers });
    });
    request.on("error", reject); // after a response it has no effect
    request.write(body);
    if (isWhole) request.end();
  });
}
