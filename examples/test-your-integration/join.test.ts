/** The sign-up against the whole service, behind MSW: what it does on good days, and when things go wrong. */
// #region join
// join.test.ts
import { expect } from "vitest";
import { join } from "./join.ts";
import { it } from "./shop.ts";

const anna = { id: crypto.randomUUID(), name: "Anna", phone: "+48 600 100 200" };

it("gives a member one card, however often the form is sent", async ({ shop }) => {
  const { loyalty, templateId } = shop;
  const first = await join(loyalty, templateId, anna);
  expect(await join(loyalty, templateId, anna)).toEqual(first);
});

it("shows the member what to correct", async ({ shop }) => {
  const { loyalty, templateId } = shop;
  expect(await join(loyalty, templateId, { ...anna, phone: "12" })).toEqual({
    correct: "The phone number is not valid.",
  });
});
// #endregion

// #region faults
it("gives one card also when the first answer is lost", async ({ shop }) => {
  const { service, loyalty, templateId } = shop;
  service.faults.add({ phase: "after-commit", kind: "reset", times: 1, match: { operation: "issueCard" } });
  const joined = await join(loyalty, templateId, anna);
  expect(await join(loyalty, templateId, anna)).toEqual(joined);
  expect(service.faults.list()).toEqual([]); // it struck
});

it("signs the member up when the service is down, and gives the card afterwards", async ({ shop }) => {
  const { service, loyalty, templateId } = shop;
  const { id } = service.faults.add({ phase: "before", kind: "status", status: 503, retryAfterSeconds: 60 });
  expect(await join(loyalty, templateId, anna)).toEqual({ later: true });
  service.faults.remove(id);
  expect(await join(loyalty, templateId, anna)).toEqual({ cardId: expect.any(String) });
});
// #endregion
