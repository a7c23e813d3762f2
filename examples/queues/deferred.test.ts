/** The deferred sign-up while the service is down, for a short time and for too long. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { createMockService, type MockServiceOptions } from "@loyalty-cards/mock-server";
import { expect, it } from "vitest";
import { issueCardTo, issueWaitingCard, type User, type Users } from "./deferred.ts";

function open(options: MockServiceOptions = {}) {
  const service = createMockService(options);
  const loyalty = createIssuingClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKeys.website,
    idempotencyNamespace: "tests",
    fetch: (input, init) => service.fetch(new Request(input, init)),
    maxRetries: 0,
  });
  const saved = new Map<string, User>();
  const users: Users = {
    async save(user) {
      saved.set(user.id, structuredClone(user));
    },
    get: async (userId) => structuredClone(saved.get(userId)),
  };
  const privacy = { version: "2026-01", acceptedAt: new Date() };
  const anna: User = { id: "user-anna", name: "Anna", phone: "+48600100200", privacy };
  const issue = (user: User) => issueCardTo(loyalty, service.templateId, users, user);
  return { service, loyalty, users, saved, anna, issue };
}

it("issues the card at once, with only the given consents", async () => {
  const { loyalty, saved, anna, issue } = open();
  await issue(anna);
  const ben: User = { ...anna, id: "user-ben", phone: "+48600100201", marketing: anna.privacy };
  await issue(ben);
  const getConsent = async (id: string) => loyalty.getConsent(saved.get(id)?.cardId ?? "");
  expect([await getConsent("user-anna"), await getConsent("user-ben")]).toMatchObject([
    { marketingConsent: false },
    { marketingConsent: true },
  ]);
});

it("returns the same card later when only the response was lost", async () => {
  const { service, loyalty, users, saved, anna, issue } = open();
  service.faults.add({ phase: "after-commit", kind: "truncate", times: 1 });
  await issue(anna);
  expect(saved.get(anna.id)).not.toHaveProperty("cardId");
  await issueWaitingCard(loyalty, service.templateId, users, anna.id);
  const cardId = saved.get(anna.id)?.cardId;
  await issue({ ...anna });
  expect(saved.get(anna.id)?.cardId).toBe(cardId);
});

it.each([true, false])(
  "issues one card to the corrected form; the service stores refusals: %s",
  async (storeRefusals) => {
    const { service, loyalty, users, saved, anna, issue } = open({ storeRefusals });
    const mistaken = { ...anna, phone: "12" };
    expect(await issue(mistaken)).toEqual({ correct: "The phone number is not valid." });
    service.faults.add({ phase: "before", kind: "reset", times: 1 });
    await issueWaitingCard(loyalty, service.templateId, users, anna.id);
    expect(service.faults.list()).toHaveLength(1); // no request was sent
    service.faults.clear();
    const refused = saved.get(anna.id) as User;
    await issue({ ...refused, phone: anna.phone });
    const { cardId } = saved.get(anna.id) ?? {};
    await issue({ ...refused, phone: anna.phone }); // the corrected form, submitted twice
    expect(saved.get(anna.id)?.cardId).toBe(cardId);
    expect(saved.get(anna.id)).toMatchObject({ cardId: expect.any(String) });
    expect(saved.get(anna.id)).not.toHaveProperty("cardError");
  },
);

it("reports a card that has been pending for too long", async () => {
  const { service, loyalty, users, saved, anna } = open();
  await users.save({ ...anna, cardWantedAt: new Date(Date.now() - 25 * 3_600_000) });
  await issueWaitingCard(loyalty, service.templateId, users, anna.id);
  expect(saved.get(anna.id)).toMatchObject({ cardError: "idempotency-expired" });
});
