/** The sign-up of the Next example, with the mock service on a port. Its pages are tested in a browser by `npm run compat -- next`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import mockSettings from "../mock.json" with { type: "json" };
import { loyalty, start } from "./loyalty";
import { query } from "./members";
import { signUp } from "./sign-up";

// While the service fails, a sign-up waits four seconds, and the card follows some seconds later.
vi.setConfig({ testTimeout: 60_000 });

let mock: MockServer;
const folder = mkdtempSync(join(tmpdir(), "example-next-"));

beforeAll(async () => {
  mock = await startMockServer({
    templates: mockSettings.templates as never,
    storeRefusals: true, // the browser tests use a service that stores none
  });
  Object.assign(process.env, {
    SHOP_FILE: join(folder, "shop.db"),
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: mock.service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: mock.service.templateId,
    LOYALTY_SIGNING_SECRET: "whsec_not_used",
  });
  await start();
});
beforeEach(() => query("DELETE FROM members"));
afterAll(async () => {
  await loyalty().outbox.close();
  await loyalty().inbox.close();
  await mock.close();
  rmSync(folder, { recursive: true });
});

const anna = { name: "Anna", phone: "600 100 200", email: "anna@example.com" };

function createForm(changes: object = {}): FormData {
  const form = new FormData();
  const privacy = "2026-01";
  const values = { ...anna, privacy, formId: crypto.randomUUID(), ...changes };
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  return form;
}

/** The name of each member, and that on the card. */
const readMembers = async () =>
  (
    await query<{ name: string; card: string | null }>(
      "SELECT name, card_id AS card FROM members",
    )
  ).map(({ name, card }) => [
    name,
    card && mock.service.cards.get(card).fieldValues["name"],
  ]);

it.each([
  { phone: "600 100 200", email: "" },
  { phone: "", email: "anna@example.com" },
  { phone: "", email: "" },
])(
  "issues a card to two people whose forms have phone $phone and email $email",
  async ({ phone, email }) => {
    await signUp(createForm({ phone, email }));
    const ben = {
      phone: phone && "600 100 201",
      email: email && "ben@example.com",
    };
    await signUp(createForm({ name: "Ben", ...ben }));
    expect(await readMembers()).toEqual([
      ["Anna", "Anna"],
      ["Ben", "Ben"],
    ]);
  },
);

it.each(["the same", "another"])(
  "keeps the member after a 422 and issues one card to the corrected form of %s page",
  async (page) => {
    const formId = crypto.randomUUID();
    expect(await signUp(createForm({ phone: "12", formId }))).toMatchObject({
      state: { errors: { phone: "The phone number is not valid." } },
    });
    expect(await readMembers()).toEqual([["Anna", null]]);
    const corrected = createForm(page === "the same" ? { formId } : {});
    expect(await signUp(corrected)).toHaveProperty("memberId");
    expect(await readMembers()).toEqual([["Anna", "Anna"]]);
  },
);

it("signs a member up while the service is down and issues one card later", async () => {
  // The worst case: the card is issued, and no response arrives.
  const fault = { phase: "after-commit", kind: "status", status: 503 } as const;
  const { id } = mock.service.faults.add(fault);
  expect(await signUp(createForm())).toHaveProperty("memberId");
  expect(await readMembers()).toEqual([["Anna", null]]);
  mock.service.faults.remove(id);
  await loyalty().outbox.drain();
  expect(await readMembers()).toEqual([["Anna", "Anna"]]);
  expect(mock.service.requests().flatMap(({ warnings }) => warnings)).toEqual([]);
});

it("rejects a form with the address of a signed-in member", async () => {
  expect(await signUp(createForm())).toHaveProperty("memberId");
  expect(await signUp(createForm({ name: "Eve" }))).toMatchObject({
    state: { errors: { email: expect.any(String) } },
  });
});
