/** The deferred sign-up, with a service that is away, and one that stays away too long. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { createMockService, type MockServiceOptions } from "@loyalty-cards/mock-server";
import { expect, it } from "vitest";
import { issueCardTo, issueWaitingCards, type User, type Users } from "./deferred.ts";

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
    async *waitingForCard() {
      for (const user of saved.values()) {
        if (user.cardWantedAt && !user.cardId && !user.cardError) yield structuredClone(user);
      }
    },
  };
  const privacy = { version: "2026-01", acceptedAt: new Date() };
  const anna: User = { id: "user-anna", name: "Anna", phone: "+48600100200", privacy };
  const give = (user: User) => issueCardTo(loyalty, service.templateId, users, user);
  return { service, loyalty, users, saved, anna, give };
}

it("gives the card at once, with the consents that were given and no other", async () => {
  const { loyalty, saved, anna, give } = open();
  await give(anna);
  const ben: User = { ...anna, id: "user-ben", phone: "+48600100201", marketing: anna.privacy };
  await give(ben);
  const consentOf = async (id: string) => loyalty.getConsent(saved.get(id)?.cardId ?? "");
  expect([await consentOf("user-anna"), await consentOf("user-ben")]).toMatchObject([
    { marketingConsent: false },
    { marketingConsent: true },
  ]);
});

it("gives the same card afterwards, when only the answer was lost", async () => {
  const { service, loyalty, users, saved, anna, give } = open();
  service.faults.add({ phase: "after-commit", kind: "truncate", times: 1 });
  await give(anna);
  expect(saved.get(anna.id)).not.toHaveProperty("cardId");
  await issueWaitingCards(loyalty, service.templateId, users);
  const cardId = saved.get(anna.id)?.cardId;
  await give({ ...anna });
  expect(saved.get(anna.id)?.cardId).toBe(cardId);
});

it.each([true, false])(
  "issues one card to the corrected form; the service stores refusals: %s",
  async (storeRefusals) => {
    const { service, loyalty, users, saved, anna, give } = open({ storeRefusals });
    const mistaken = { ...anna, phone: "12" };
    expect(await give(mistaken)).toEqual({ correct: "The phone number is not valid." });
    service.faults.add({ phase: "before", kind: "reset", times: 1 });
    await issueWaitingCards(loyalty, service.templateId, users);
    expect(service.faults.list()).toHaveLength(1); // nobody called
    service.faults.clear();
    const refused = saved.get(anna.id) as User;
    await give({ ...refused, phone: anna.phone });
    const { cardId } = saved.get(anna.id) ?? {};
    await give({ ...refused, phone: anna.phone }); // the corrected form, submitted twice
    expect(saved.get(anna.id)?.cardId).toBe(cardId);
    expect(saved.get(anna.id)).toMatchObject({ cardId: expect.any(String) });
    expect(saved.get(anna.id)).not.toHaveProperty("cardError");
  },
);

it("leaves to a person whose card has waited too long", async () => {
  const { service, loyalty, users, saved, anna } = open();
  await users.save({ ...anna, cardWantedAt: new Date(Date.now() - 25 * 3_600_000) });
  await issueWaitingCards(loyalty, service.templateId, users);
  expect(saved.get(anna.id)).toMatchObject({ cardError: "idempotency-expired" });
});
