/** The data file of a golden folder: cards, operations, deliveries in every state, keys, faults, and a second sandbox. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Deliver, manualClock } from "@loyalty-cards/mock-server";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";

export const dataFile = "mock-server.data";
export const template = "tpl_club";
const receiver = "https://shop.example.com/webhooks";

/** What a user of the version that wrote the file saw: the responses of the control API. */
export interface ShownMockServer {
  apiKey: string;
  /** The signing secret of the seeded endpoint. */
  secret: string;
  /** A key that issued a card, with the request and the card. */
  idempotencyKey: string;
  request: object;
  cardId: string;
  views: Record<string, unknown>;
}

export const signUp = (phone: string) => ({
  fieldValues: { name: "Anna" },
  customer: { phone, consents: { privacy: { version: "2026-01" } } },
});

/** Issues a card over HTTP. */
export async function issue(
  { url }: MockServer,
  apiKey: string,
  idempotencyKey: string,
  request: object,
): Promise<{ status: number; id: string }> {
  const response = await fetch(`${url}/api/v1/templates/${template}/passes`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    },
    body: JSON.stringify(request),
  });
  const { id } = (await response.json()) as { id: string };
  return { status: response.status, id };
}

/** Reads a page of the control API. Addresses are shown without the port. */
export const readView = async (url: string, path: string): Promise<unknown> =>
  JSON.parse((await (await fetch(url + path)).text()).replaceAll(url, ""));

async function readViews(url: string, cardIds: readonly string[], sandboxId: string) {
  const lists = ["cards", "customers", "templates", "api-keys", "faults", "clock", "sandboxes", "warnings"];
  const paths = [
    ...[...lists, "webhooks/endpoints", "webhooks/deliveries"].map((name) => `/_mock/${name}`),
    ...cardIds.map((id) => `/_mock/cards/${id}/operations`),
    `/_mock/templates?sandbox=${sandboxId}`,
  ];
  const views: Record<string, unknown> = {};
  for (const path of paths) views[path] = await readView(url, path);
  return views;
}

export async function writeMockServer(folder: string): Promise<ShownMockServer> {
  const scratch = mkdtempSync(join(tmpdir(), "golden-mock-server-"));
  const file = join(scratch, dataFile);
  let lastId = 0;
  let status = 204;
  const deliver: Deliver = () => new Response(null, { status });
  const server = await startMockServer({
    data: file,
    clock: manualClock("2026-03-01T12:00:00.000Z"),
    deliver,
    templates: [
      {
        id: template,
        name: "Club",
        fields: [{ key: "name", type: "name", required: true }],
        tiers: [{ name: "Gold", from: 100 }],
      },
    ],
    endpoints: [{ url: receiver, events: ["card.added", "balance.changed", "tier.changed"] }],
    log: () => {},
    testing: { generateId: (prefix) => `${prefix}_${String(++lastId).padStart(16, "0")}` },
  });
  const { service } = server;
  const apiKey = service.apiKeys.website;
  const secret = service.endpoints[0]?.secret ?? "";
  const [idempotencyKey, request] = ["golden-1", signUp("+48600100200")];
  const { id: cardId } = await issue(server, apiKey, idempotencyKey, request);
  const { id: otherId } = await issue(server, apiKey, "golden-2", signUp("+48600100201"));
  service.cards.addToWallet(cardId, "apple");
  service.cards.purchase(cardId, { points: 120 });
  service.cards.redeem(cardId, { points: 20 });
  service.cards.cancel(service.cards.purchase(cardId, { points: 5 }).id);
  service.cards.setStatus(otherId, "blocked");
  await service.idle(); // these are delivered

  const moved = service.webhooks.createEndpoint({ url: receiver, events: ["ping"] });
  const deleted = service.webhooks.createEndpoint({ url: receiver, events: ["ping"] });
  status = 500;
  service.webhooks.sendTest(deleted.id);
  await service.idle();
  service.webhooks.deleteEndpoint(deleted.id); // this one has failed
  service.webhooks.updateEndpoint(moved.id, { url: `${receiver}/moved` });
  service.cards.purchase(otherId, { points: 7 });
  await service.clock.advance("2m"); // this one is pending, after two attempts
  service.faults.add({ phase: "before", kind: "status", status: 503, times: 1 });
  service.templates.create({ id: "tpl_archived", name: "Archived" });
  service.templates.archive("tpl_archived");
  const sandbox = service.sandboxes.create();
  sandbox.templates.create({ id: "tpl_sandbox", name: "Sandbox" });

  const views = await readViews(server.url, [cardId, otherId], sandbox.sandboxId);
  await server.close();
  copyFileSync(file, join(folder, dataFile));
  rmSync(scratch, { recursive: true });
  return { apiKey, secret, idempotencyKey, request, cardId, views };
}
