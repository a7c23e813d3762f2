/** Sign-up, purchase, signed webhook: the same for both kinds of modules. */
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const express = require("express");

exports.mainJob = async ({
  createIssuingClient,
  sqliteOutbox,
  withOpenTelemetry,
  startMockServer,
  expressReceiver,
}) => {
  const { url, service, close } = await startMockServer();
  const balances = [];
  const app = express();
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { secret } = service.webhooks.createEndpoint({
    url: `http://127.0.0.1:${server.address().port}/webhooks`,
    events: ["balance.changed"],
  });
  app.post("/webhooks", expressReceiver({ secret, handler: ({ data }) => void balances.push(data.balance) }));

  const options = { baseUrl: url, apiKey: service.apiKeys.website };
  const client = createIssuingClient(withOpenTelemetry(options));
  const request = { customer: { consents: { privacy: { version: "1" } } } };
  const card = await client.issueCard(service.templateId, request, { userId: 1 });
  service.cards.purchase(card.id, { points: 5 });
  await service.idle();
  const [delivery] = service.webhooks.deliveries();
  if (balances.join() !== "5" || delivery.state !== "delivered") throw new Error(JSON.stringify(delivery));
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-"));
  const outbox = sqliteOutbox({ client: createIssuingClient(options), file: join(folder, "outbox.db") });
  await outbox.addAll([{ userId: 1, template: service.templateId, request }]);
  await outbox.drain();
  const entry = await outbox.get(1);
  if (entry?.cardId !== card.id) throw new Error(JSON.stringify(entry));
  await outbox.close();
  rmSync(folder, { recursive: true });
  console.log("issued, delivered, verified");
  server.close();
  server.closeAllConnections();
  await close();
};
