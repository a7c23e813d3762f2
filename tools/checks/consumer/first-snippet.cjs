/** Uses the first snippet of a package's README against the mock server: `first-snippet.cjs <package> <module>`. */
const { once } = require("node:events");
const { createServer } = require("node:http");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { startMockServer } = require("@loyalty-cards/mock-server/node");

const [, , name, module_] = process.argv;
const load = () => (module_.endsWith(".cjs") ? require(module_) : import(module_));
const member = { customer: { consents: { privacy: { version: "1" } } } };

/** A server, because an endpoint needs its address before the signing secret exists. */
async function listening(service) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}/webhooks/loyalty`;
  return { server, secret: service.webhooks.createEndpoint({ url, events: ["balance.changed"] }).secret };
}

async function issued({ url, service }) {
  const headers = {
    authorization: `Bearer ${service.apiKeys.website}`,
    "content-type": "application/json",
    "idempotency-key": "first-snippet",
  };
  const path = `${url}/api/v1/templates/${service.templateId}/passes`;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(member) });
  return response.json();
}

/** By package; one that is missing here makes the program fail. */
const uses = {
  async "issuing-client"({ url, service }) {
    process.env.LOYALTY_URL = url;
    process.env.LOYALTY_API_KEY = service.apiKeys.website;
    process.env.LOYALTY_TEMPLATE_ID = service.templateId;
    const { issueCardTo } = await load();
    const card = await issueCardTo({ id: 7, phone: "+48600100200", name: "Anna" });
    return service.cards.get(card.id).fieldValues.name === "Anna";
  },
  async "issuing-outbox"({ url, service }) {
    process.env.LOYALTY_URL = url;
    process.env.LOYALTY_API_KEY = service.apiKeys.website;
    process.env.LOYALTY_TEMPLATE_ID = service.templateId;
    const { outbox, signUp } = await load();
    const { cardId } = await signUp({ id: "7", name: "Anna", phone: "+48600100200" });
    await outbox.close();
    return service.cards.get(cardId).fieldValues.name === "Anna";
  },
  async "webhook-verify"(mock) {
    const { server, secret } = await listening(mock.service);
    const balances = [];
    const { createApp } = await load();
    server.on(
      "request",
      createApp(secret, async (_cardId, balance) => void balances.push(balance)),
    );
    mock.service.cards.purchase((await issued(mock)).id, { points: 5 });
    await mock.service.idle();
    server.close();
    server.closeAllConnections();
    return balances.join() === "5" && mock.service.webhooks.deliveries()[0].state === "delivered";
  },
  async "webhook-inbox"(mock) {
    const { server, secret } = await listening(mock.service);
    const { createApp } = await load();
    const { app, inbox } = await createApp(secret, join(__dirname, `inbox-${process.pid}.db`));
    server.on("request", app);
    mock.service.cards.purchase((await issued(mock)).id, { points: 5 });
    await mock.service.idle();
    const balances = () => inbox.write((database) => database.prepare("SELECT balance FROM balances").all());
    // The effect comes after the response.
    while ((await balances()).length === 0) await pause(5);
    const [{ balance }] = await balances();
    await inbox.close();
    server.close();
    server.closeAllConnections();
    return balance === 5;
  },
};

async function main() {
  const mock = await startMockServer();
  const worked = await uses[name](mock);
  await mock.close();
  console.log(worked ? "works" : "did not have its effect");
}

main();
