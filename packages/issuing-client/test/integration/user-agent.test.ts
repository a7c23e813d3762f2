/** The User-Agent header, as a server receives it. */
import { createServer } from "node:http";
import { expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { createIssuingClient } from "../../src/index.ts";
import { operationCalls } from "../scripted.ts";
import { listen } from "../server.ts";

const own = `loyalty-cards/${packageJson.version}`;

it.each([
  ["node:http", {}],
  ["fetch", { fetch }],
])("is sent over %s with every method, retry and call of client.api", async (_name, transport) => {
  const userAgents: unknown[] = [];
  const statuses = [503];
  const server = createServer((request, response) => {
    userAgents.push(request.headers["user-agent"]);
    response.writeHead(statuses.shift() ?? 200, { "content-type": "application/json" });
    const card = { id: "card_1", publicUrl: "https://cards.test/1" };
    response.end(JSON.stringify({ ...card, items: [], marketingConsent: true }));
  });
  const options = { baseUrl: `http://127.0.0.1:${await listen(server)}`, apiKey: "k", ...transport };
  const client = createIssuingClient({ testing: { random: () => 0 }, ...options });
  for (const call of Object.values(operationCalls)) await call(client);
  const params = { path: { id: "card_1" } };
  await client.api.GET("/passes/{id}", { params });
  expect(userAgents.splice(0)).toEqual(Array(7).fill(own));

  const shop = createIssuingClient({ ...options, userAgent: "my-shop/1.2 (staging)" });
  await shop.getCard("card_1");
  await shop.getCard("card_1", { headers: { "User-Agent": "back-fill/3" } });
  await shop.getCard("card_1", { headers: { "user-agent": "" } });
  await shop.api.GET("/passes/{id}", { params, headers: { "user-agent": "back-fill/3" } });
  expect(userAgents).toEqual(
    ["", " back-fill/3", "", " back-fill/3"].map((added) => `${own} my-shop/1.2 (staging)${added}`),
  );
});
