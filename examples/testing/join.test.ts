/** The sign-up against the whole service, behind MSW, with and without injected faults. */
// #region join
// join.test.ts
import { expect } from "vitest";
import { join } from "./join.ts";
import { it } from "./shop.ts";

const anna = { id: crypto.randomUUID(), name: "Anna", phone: "+48 600 100 200" };

it("issues one card to a form that is submitted twice", async ({ shop }) => {
  const { outbox, templateId } = shop;
  const first = await join(outbox, templateId, anna);
  expect(await join(outbox, templateId, anna)).toEqual(first);
});

it("says what to correct, and issues a card to the corrected form", async ({
  shop,
}) => {
  const { outbox, templateId } = shop;
  const member = { ...anna, phone: "12" };
  expect(await join(outbox, templateId, member)).toEqual({
    correct: "The phone number is not valid.",
  });
  member.phone = anna.phone;
  expect(await join(outbox, templateId, member)).toEqual({
    cardId: expect.any(String),
  });
});
// #endregion

// G1, G10
// #region faults
it("issues one card when the first response is lost", async ({ shop }) => {
  const { service, outbox, templateId } = shop;
  service.faults.add({
    phase: "after-commit",
    kind: "reset",
    times: 1,
    match: { operation: "issueCard" },
  });
  const joined = await join(outbox, templateId, anna);
  expect(await join(outbox, templateId, anna)).toEqual(joined);
  expect(service.faults.list()).toEqual([]); // it was injected
});

it("signs up while the service is down, and issues the card later", async ({
  shop,
}) => {
  const { service, outbox, templateId } = shop;
  const { id } = service.faults.add({
    phase: "before",
    kind: "status",
    status: 503,
  });
  expect(await join(outbox, templateId, anna, 100)).toEqual({ later: true });
  service.faults.remove(id);
  // in the shop: outbox.work()
  expect(await outbox.drain()).toMatchObject({ waiting: 0, issued: 1 });
});
// #endregion
