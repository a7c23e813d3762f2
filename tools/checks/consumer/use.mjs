/** Uses the published packages: `use.mjs esm` imports them, `use.mjs cjs` requires them. Prints "works". */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import express from "express";

const require = createRequire(import.meta.url);
const load = (name) => {
  const specifier = `@loyalty-cards/${name}`;
  return process.argv[2] === "cjs" ? require(specifier) : import(specifier);
};

/** The globals that Node creates lazily: `Request` alone takes longer than importing the package. */
const read = [];
for (const name of ["Request", "Response", "Headers", "FormData"]) {
  const { get } = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      read.push(name);
      return get.call(globalThis);
    },
  });
}
const { createIssuingClient } = await load("issuing-client");
const { isWebhookVerificationError, verifyWebhookSync } = await load("webhook-verify");
assert.deepEqual(read, [], "importing reads no global that is created lazily");

const { sqliteOutbox } = await load("issuing-outbox");
const { createMockService, WaitTimeoutError } = await load("mock-server");
const { startMockServer } = await load("mock-server/node");
const { sqliteInbox } = await load("webhook-inbox");
const { markProcessed } = await load("webhook-inbox/sqlite");
const { expressReceiver } = await load("webhook-verify/express");
const folder = mkdtempSync(join(tmpdir(), "consumer-"));

/** Sign-up, purchase, signed webhook; and the same card through the outbox. */
async function issueAndReceive() {
  const { url, service, close } = await startMockServer();
  const balances = [];
  const app = express();
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { secret } = service.webhooks.createEndpoint({
    url: `http://127.0.0.1:${server.address().port}/webhooks`,
    events: ["balance.changed"],
  });
  app.post("/webhooks", expressReceiver({ secret, handler: ({ data }) => void balances.push(data.balance) }));

  const options = { baseUrl: url, apiKey: service.apiKeys.website };
  const client = createIssuingClient(options);
  const request = { customer: { consents: { privacy: { version: "1" } } } };
  const card = await client.issueCard(service.templateId, request, { userId: 1 });
  service.cards.purchase(card.id, { points: 5 });
  await service.idle();
  assert.deepEqual(balances, [5]);
  assert.equal(service.webhooks.deliveries()[0].state, "delivered");

  const outbox = sqliteOutbox({ client: createIssuingClient(options), file: join(folder, "outbox.db") });
  await outbox.addAll([{ userId: 1, template: service.templateId, request }]);
  await outbox.drain();
  assert.equal((await outbox.get(1)).cardId, card.id);
  await outbox.close();
  await showErrors(client);
  server.close();
  server.closeAllConnections();
  await close();
}

/** Each error shows the name of its class, as a log does. */
async function showErrors(client) {
  const service = createMockService();
  const failures = {
    IssuingError: [() => client.getCard("")],
    ProblemError: [() => client.getCard("card_unknown")],
    WebhookVerificationError: [
      () => verifyWebhookSync({ rawBody: "{}", signature: "", secret: "whsec_test" }),
    ],
    NotFoundError: [() => service.cards.get("card_unknown")],
    InputError: [() => service.waitFor({}, { timeoutMs: 1 })],
    WaitTimeoutError: [() => service.waitFor({ delivery: {} }, { timeoutMs: 1 }), WaitTimeoutError],
  };
  for (const [name, [run, kind = Error]] of Object.entries(failures))
    await assert.rejects(
      async () => run(),
      (error) => {
        assert.equal(error.constructor.name, name);
        assert.match(inspect(error), new RegExp(`^\\[?${name}: `));
        return error instanceof kind;
      },
    );
}

/** Durable receipt and effect on SQLite. */
async function storeAndProcess() {
  const inbox = sqliteInbox({ file: join(folder, "inbox.db") });
  const event = { id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" };
  const body = new TextEncoder().encode(JSON.stringify(event));
  const put = () =>
    inbox.put(event, { body, receivedAt: new Date() }, { signal: new AbortController().signal });
  assert.deepEqual([await put(), await put()], ["stored", "duplicate"]);
  await new Promise((resolve) => {
    inbox.work((delivered, { write }) => {
      write((database) => assert.ok(markProcessed(database, delivered), "processed twice"));
      setImmediate(resolve);
    });
  });
  await inbox.close();
}

/** Reads the files of the contract, and verifies its vectors with the installed verifier. */
function readContract() {
  const { webhooks } = require("@loyalty-cards/contract/openapi.json");
  const { vectors } = require("@loyalty-cards/contract/signatures.json");
  for (const type of Object.keys(webhooks))
    assert.match(require(`@loyalty-cards/contract/events/${type}.json`).$id, new RegExp(`/${type}\\.json$`));
  for (const { name, body, secrets, header, nowSeconds, toleranceSeconds, reason } of vectors) {
    let found;
    try {
      verifyWebhookSync({
        rawBody: Buffer.from(body, "base64"),
        signature: header,
        secret: secrets.map((secret) => Buffer.from(secret, "base64")),
        toleranceSeconds,
        now: () => nowSeconds * 1000,
      });
    } catch (error) {
      found = isWebhookVerificationError(error) ? error.reason : error;
    }
    assert.equal(found, reason, name);
  }
}

await issueAndReceive();
await storeAndProcess();
readContract();
rmSync(folder, { recursive: true });
console.log("works");
