/**
 * What surrounds the shop of the tests: deliveries that the service would not send (changed, too
 * large, with unusual bytes), and the back office, which receives the reports of what the shop did
 * with the events, and can delay the responses.
 */
import { createServer, request as httpRequest } from "node:http";
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

/**
 * Sends `sent` with the signature of `body`; with `announcedBytes`, that content-length and an
 * incomplete body.
 */
export async function deliver(
  url,
  secret,
  body,
  { sent = body, chunked = false, announcedBytes } = {},
) {
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

export async function openBackOffice() {
  const reports = [];
  let released = Promise.resolve();

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const what = request.url.slice(1);
    reports.push({ what, ...JSON.parse(body) });
    if (what === "thanking") await released;
    response.writeHead(204).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** The number of reports with these members. */
    count: (members) =>
      reports.filter((one) => Object.entries(members).every(([name, value]) => one[name] === value))
        .length,
    /** From now on a "thanking" report gets no response, until the returned function is called. */
    delayResponses() {
      let release;
      released = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
