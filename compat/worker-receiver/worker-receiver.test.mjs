/** The Worker example in workerd, with deliveries of the mock service. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startMockServer } from "../../packages/mock-server/dist/node.js";
import { signWebhook } from "../../packages/webhook-verify/dist/index.js";
import { freePort } from "../next/workshop.mjs";
import { openWorker } from "./workerd.mjs";

describe("the receiver on Workers", { concurrency: false }, () => {
  let worker;
  let mock;
  let running;
  let endpoint;
  let port;
  before(async () => {
    port = await freePort();
    worker = await openWorker();
    mock = await startMockServer();
    const url = `http://127.0.0.1:${port}/webhooks/loyalty`;
    const events = ["balance.changed", "tier.changed", "consent.changed"];
    endpoint = mock.service.webhooks.createEndpoint({ url, events });
    running = await worker.start(port, endpoint.secret);
  });
  after(async () => {
    await running?.stop();
    await mock?.close();
    worker?.close();
  });

  const issue = async (customer = {}) => {
    const answer = await fetch(`${mock.url}/api/v1/templates/${mock.service.templateId}/passes`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${mock.service.apiKeys.website}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        fieldValues: {},
        customer: { consents: { privacy: { version: "1" } }, ...customer },
      }),
    });
    return answer.json();
  };
  const known = async ({ id }) => (await fetch(`${running.url}/cards/${id}`)).json();
  const statuses = () => mock.service.webhooks.deliveries().map(({ attempts }) => attempts.at(-1).status);
  const deliver = async (event, secret = endpoint.secret) => {
    const body = JSON.stringify(event);
    const headers = { "service-signature": await signWebhook({ rawBody: body, secret }) };
    return (await fetch(`${running.url}/webhooks/loyalty`, { method: "POST", headers, body })).status;
  };
  const balanceChanged = (id, cardId, createdAt, balance) => ({
    id,
    type: "balance.changed",
    createdAt,
    data: {
      passId: cardId,
      customerId: "cus_1",
      balance,
      change: 1,
      operation: { id: "op_1", type: "purchase" },
    },
  });

  it("keeps balance, level and consent as the service tells them", async () => {
    const card = await issue({ phone: "600100200", consents: { privacy: { version: "1" }, marketing: {} } });
    const second = await issue({ phone: "600100200" });
    mock.service.cards.purchase(card.id, { points: 120 });
    await mock.service.idle();
    assert.deepEqual(await known(card), { balance: 120, tier: "Silver", wantsNews: true });
    assert.deepEqual(await known(second), {});
    assert.ok(statuses().length >= 3);
    assert.ok(statuses().every((status) => status === 204));
  });

  it("takes a test, refuses a forger, and takes a copy without effect", async () => {
    mock.service.webhooks.sendTest(endpoint.id);
    await mock.service.idle();
    assert.equal(statuses().at(-1), 204);
    const card = { id: "card_copies" };
    const first = balanceChanged("evt_1", card.id, "2026-11-20T10:00:00.000Z", 5);
    assert.equal(await deliver(first, "whsec_somebody_else"), 401);
    assert.deepEqual(await known(card), {});
    assert.equal(await deliver(first), 204);
    // The same id is the same event: it is not looked into again.
    assert.equal(await deliver(balanceChanged("evt_1", card.id, "2026-11-20T10:00:09.000Z", 9)), 204);
    assert.deepEqual(await known(card), { balance: 5 });
  });

  it("keeps what is newest, whatever the order, and however many come at once", async () => {
    const card = { id: "card_order" };
    const events = Array.from({ length: 20 }, (_, second) =>
      balanceChanged(`evt_o${second}`, card.id, `2026-11-20T10:00:${10 + second}.000Z`, second),
    );
    const shuffled = [...events, ...events].sort((one, other) => (one.id < other.id ? 1 : -1));
    const answers = await Promise.all(shuffled.map((event) => deliver(event)));
    assert.deepEqual(new Set(answers), new Set([204]));
    assert.deepEqual(await known(card), { balance: 19 });
  });

  it("knows after a kill what it answered 204 to", async () => {
    const card = { id: "card_kill" };
    assert.equal(await deliver(balanceChanged("evt_k", card.id, "2026-11-20T10:00:00.000Z", 7)), 204);
    await running.stop();
    running = await worker.start(port, endpoint.secret);
    assert.deepEqual(await known(card), { balance: 7 });
    assert.equal(await deliver(balanceChanged("evt_k", card.id, "2026-11-20T10:00:01.000Z", 8)), 204);
    assert.deepEqual(await known(card), { balance: 7 });
  });
});
