/** The Worker in workerd, with deliveries of the mock service. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { runWorker } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "worker-"));
let mock: MockServer;
let worker: Awaited<ReturnType<typeof runWorker>>;
let url: string;
const secret = "whsec_worker";

async function start(): Promise<void> {
  worker = await runWorker({ port: 0, secret, folder });
  url = (await worker.ready).origin;
}
beforeAll(async () => {
  await start();
  const events = ["balance.changed", "tier.changed", "consent.changed"] as const;
  const endpoint = { url: `${url}/webhooks/loyalty`, secret, events };
  mock = await startMockServer({ endpoints: [endpoint] });
}, 60_000);
afterAll(async () => {
  await worker.dispose();
  await mock.close();
  rmSync(folder, { recursive: true });
});

async function issueCard(customer: object): Promise<string> {
  const { service, url } = mock;
  const authorization = `Bearer ${service.apiKeys.website}`;
  const headers = { authorization, "content-type": "application/json" };
  const consents = { privacy: { version: "1" } };
  const request = { fieldValues: {}, customer: { consents, ...customer } };
  const init = { method: "POST", headers, body: JSON.stringify(request) };
  const path = `/api/v1/templates/${service.templateId}/passes`;
  const response = await fetch(url + path, init);
  return ((await response.json()) as { id: string }).id;
}

const readCard = async (id: string) => (await fetch(`${url}/cards/${id}`)).json();
const readStatuses = () =>
  mock.service.webhooks.deliveries().map(({ attempts }) => attempts.at(-1)?.status);

async function deliver(event: object, key = secret): Promise<number> {
  const body = JSON.stringify(event);
  const signature = await signWebhook({ rawBody: body, secret: key });
  const headers = { "service-signature": signature };
  const init = { method: "POST", headers, body };
  return (await fetch(`${url}/webhooks/loyalty`, init)).status;
}

function createEvent(id: string, passId: string, second: number, balance: number) {
  const createdAt = `2026-11-20T10:00:${10 + second}.000Z`;
  return { id, type: "balance.changed", createdAt, data: { passId, balance } };
}

it("stores the balance, tier and consent of the events", async () => {
  const card = await issueCard({
    phone: "600100200",
    consents: { privacy: { version: "1" }, marketing: {} },
  });
  const second = await issueCard({ phone: "600100200" });
  mock.service.cards.purchase(card, { points: 120 });
  await mock.service.idle();
  const facts = { balance: 120, tier: "Silver", wantsNews: true };
  expect(await readCard(card)).toEqual(facts);
  expect(await readCard(second)).toEqual({});
  expect(readStatuses().length).toBeGreaterThanOrEqual(3);
  expect(new Set(readStatuses())).toEqual(new Set([204]));
});

it("accepts a test event, rejects a forgery, and accepts a duplicate without effect", async () => {
  mock.service.webhooks.sendTest(mock.service.endpoints[0]?.id ?? "");
  await mock.service.idle();
  expect(readStatuses().at(-1)).toBe(204);
  const first = createEvent("evt_1", "card_duplicates", 0, 5);
  expect(await deliver(first, "whsec_forged")).toBe(401);
  expect(await readCard("card_duplicates")).toEqual({});
  expect(await deliver(first)).toBe(204);
  // Same id: a duplicate, whatever its content.
  expect(await deliver(createEvent("evt_1", "card_duplicates", 9, 9))).toBe(204);
  expect(await readCard("card_duplicates")).toEqual({ balance: 5 });
});

it("responds 503 to a balance that is not a number, and accepts a type that it does not use", async () => {
  const event = createEvent("evt_text", "card_text", 0, 5);
  const asText = { ...event, data: { ...event.data, balance: "5" } };
  expect(await deliver(asText)).toBe(503);
  const other = { ...event, id: "evt_later", type: "card.renamed" };
  expect(await deliver(other)).toBe(204);
});

// G4
it("stores the newest balance when events arrive concurrently and out of order", async () => {
  const events = Array.from({ length: 20 }, (_, second) =>
    createEvent(`evt_o${second}`, "card_order", second, second),
  );
  const shuffled = [...events.reverse(), ...events];
  const statuses = await Promise.all(shuffled.map((event) => deliver(event)));
  expect(new Set(statuses)).toEqual(new Set([204]));
  expect(await readCard("card_order")).toEqual({ balance: 19 });
});

it("orders the dates of every ISO form by time, and responds 503 to a date that it cannot read", async () => {
  const deliverAt = (createdAt: string, balance: number) =>
    deliver({
      ...createEvent(`evt_d${balance}`, "card_dates", 0, balance),
      createdAt,
    });
  expect(await deliverAt("2026-11-20T10:00:00Z", 1)).toBe(204);
  expect(await deliverAt("2026-11-20T10:00:00.250Z", 2)).toBe(204);
  expect(await readCard("card_dates")).toEqual({ balance: 2 });
  expect(await deliverAt("2026-11-20T09:00:01-01:00", 3)).toBe(204);
  expect(await readCard("card_dates")).toEqual({ balance: 3 });
  expect(await deliverAt("2026-11-20T11:00:00.500+01:00", 4)).toBe(204);
  expect(await deliverAt("yesterday", 5)).toBe(503);
  expect(await readCard("card_dates")).toEqual({ balance: 3 });
});

it("still has the events after a restart", async () => {
  expect(await deliver(createEvent("evt_restart", "card_restart", 0, 7))).toBe(204);
  await worker.dispose();
  await start();
  expect(await readCard("card_restart")).toEqual({ balance: 7 });
  expect(await deliver(createEvent("evt_restart", "card_restart", 1, 8))).toBe(204);
  expect(await readCard("card_restart")).toEqual({ balance: 7 });
});

it("logs one line about several forgeries", async () => {
  const log = vi.spyOn(console, "error");
  await worker.dispose();
  await start();
  const event = createEvent("evt_forged", "card_forged", 0, 5);
  const forge = () => deliver(event, "whsec_forged");
  expect(await Promise.all([forge(), forge(), forge()])).toEqual([401, 401, 401]);
  await worker.dispose();
  const lines = log.mock.calls.filter(([line]) => line.includes("mismatch"));
  expect(lines).toHaveLength(1);
  await start();
});
