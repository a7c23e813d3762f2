/**
 * Servers that issue a card, each a program: `mock-servers.mjs "by hand" | "MSW"`. Both check the
 * API key and the consent, create the card once for each idempotency key, and print their address
 * as the mock server does.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const apiKey = "mock_website_key";
const path = "/api/v1/templates/tpl_mock/passes";
const cards = new Map();
const cardByKey = new Map();
let baseUrl;

const problem = (status, detail) => ({ status, value: { type: "about:blank", status, detail } });

function issue(authorization, key, json) {
  if (authorization !== `Bearer ${apiKey}`) return problem(401, "The API key is unknown.");
  let input;
  try {
    input = JSON.parse(json);
  } catch {
    return problem(400, "The body is not JSON.");
  }
  if (typeof input.customer?.consents?.privacy?.version !== "string")
    return problem(422, "Please accept the privacy policy.");
  const known = cardByKey.get(key);
  if (known !== undefined) return { status: 201, value: known };
  const id = randomUUID();
  const card = {
    id,
    publicUrl: `${baseUrl}/cards/${id}`,
    status: "active",
    customerId: randomUUID(),
    loyaltyBalance: 0,
    loyaltyTier: null,
    issuedVia: "website",
    fieldValues: { ...input.fieldValues, points: 0 },
  };
  cards.set(id, card);
  if (key !== undefined) cardByKey.set(key, card);
  return { status: 201, value: card };
}

/** By hand. */
function respond({ method, url, headers }, body) {
  if (method !== "POST" || url !== path) return problem(404, "There is no such path.");
  return issue(headers.authorization, headers["idempotency-key"], body);
}

/** With a handler of MSW, as its users write one. */
async function createMswRespond() {
  const { getResponse, HttpResponse, http } = await import("msw");
  const handler = http.post(`*${path}`, async ({ request }) => {
    const { headers } = request;
    const key = headers.get("idempotency-key") ?? undefined;
    const { status, value } = issue(headers.get("authorization"), key, await request.text());
    return HttpResponse.json(value, { status });
  });
  return async ({ method, url, headers }, body) => {
    const response = await getResponse(
      [handler],
      new Request(baseUrl + url, { method, headers, body }),
    );
    return response === undefined
      ? problem(404, "There is no such path.")
      : { status: response.status, value: await response.json() };
  };
}

const listen = process.argv[2] === "MSW" ? await createMswRespond() : respond;
const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    const { status, value } = await listen(request, Buffer.concat(chunks));
    const body = JSON.stringify(value);
    const length = Buffer.byteLength(body);
    response
      .writeHead(status, { "content-type": "application/json", "content-length": length })
      .end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  baseUrl = `http://127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({ baseUrl, apiKeys: { website: apiKey }, templateId: "tpl_mock" }));
});
