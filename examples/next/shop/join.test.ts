/** The sign-up of the Next example, with the mock service on a port. Its pages are tested in a browser by `npm run compat -- next`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import mockSettings from "../mock.json" with { type: "json" };
import { inTransaction, outbox } from "./database";
import { join } from "./join";

// While the service fails, a sign-up waits four seconds, and the card follows some seconds later.
vi.setConfig({ testTimeout: 60_000 });

let mock: MockServer;
const folder = mkdtempSync(path(tmpdir(), "example-next-"));

beforeAll(async () => {
  mock = await startMockServer({
    templates: mockSettings.templates as never,
    storeRefusals: true, // the browser tests use a service that stores none
  });
  Object.assign(process.env, {
    SHOP_FILE: path(folder, "shop.db"),
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: mock.service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: mock.service.templateId,
  });
});
beforeEach(() => inTransaction((query) => query("DELETE FROM members")));
afterAll(async () => {
  await (await outbox()).close();
  await mock.close();
  rmSync(folder, { recursive: true });
});

const anna = { name: "Anna", phone: "600 100 200", email: "anna@example.com" };

function createForm(
  changes: object,
  formId: string = crypto.randomUUID(),
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({
    ...anna,
    ...changes,
    privacy: "2026-01",
    formId,
  }))
    form.set(name, value);
  return form;
}

const members = () =>
  inTransaction((query) =>
    query<{ name: string; card: string | null }>(
      "SELECT name, card_id AS card FROM members",
    ),
  );

it.each([
  { phone: "600 100 200", email: "" },
  { phone: "", email: "anna@example.com" },
  { phone: "", email: "" },
])(
  "issues a card to two people whose forms have phone $phone and email $email",
  async ({ phone, email }) => {
    await join(createForm({ phone, email }));
    await join(
      createForm({
        name: "Ben",
        phone: phone && "600 100 201",
        email: email && "ben@example.com",
      }),
    );
    const cards = (await members()).map(({ name, card }) => [
      name,
      mock.service.cards.get(card ?? "").fieldValues["name"],
    ]);
    expect(cards).toEqual([
      ["Anna", "Anna"],
      ["Ben", "Ben"],
    ]);
  },
);

it("keeps the member after a 422 and issues one card to the corrected form", async () => {
  const formId = crypto.randomUUID();
  expect(await join(createForm({ phone: "12" }, formId))).toMatchObject({
    state: { errors: { phone: "The phone number is not valid." } },
  });
  expect(await members()).toEqual([{ name: "Anna", card: null }]);
  expect(await join(createForm({}, formId))).toHaveProperty("member");
  expect(await members()).toEqual([{ name: "Anna", card: expect.any(String) }]);
});

it("issues the card when the corrected form comes from another page", async () => {
  await join(createForm({ phone: "12" }));
  expect(await join(createForm({}))).toHaveProperty("member");
  expect(await members()).toEqual([{ name: "Anna", card: expect.any(String) }]);
});

it("signs a member up while the service is down and issues one card later", async () => {
  // The worst case: the card is issued, and no response arrives.
  const { id } = mock.service.faults.add({
    phase: "after-commit",
    kind: "status",
    status: 503,
  });
  expect(await join(createForm({}))).toHaveProperty("member");
  expect(await members()).toEqual([{ name: "Anna", card: null }]);
  mock.service.faults.remove(id);
  await (await outbox()).drain();
  expect(await members()).toEqual([{ name: "Anna", card: expect.any(String) }]);
  expect(mock.service.requests().flatMap(({ warnings }) => warnings)).toEqual([]);
});

it("rejects a form with the address of a signed-in member", async () => {
  expect(await join(createForm({}))).toHaveProperty("member");
  expect(await join(createForm({ name: "Eve" }))).toMatchObject({
    state: { errors: { email: expect.any(String) } },
  });
});
