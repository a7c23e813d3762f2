/** Faults after the commit: the card exists, the response is lost, and the member still has one card. */
// #region faults
// faults.test.ts
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { registerMember } from "./register-member.ts";

async function openShop() {
  const { url, service, close } = await startMockServer();
  onTestFinished(close);
  return {
    service,
    settings: {
      baseUrl: url,
      apiKey: service.apiKeys.website,
      templateId: service.templateId,
    },
  };
}

it("issues one card when the first response is incomplete", async () => {
  const { service, settings } = await openShop();
  service.faults.add({
    phase: "after-commit",
    kind: "truncate",
    times: 1,
    match: { operation: "issueCard" },
  });
  service.faults.add({
    phase: "before",
    kind: "status",
    status: 503,
    retryAfterSeconds: 0,
    times: 1,
  });

  const member = { id: crypto.randomUUID(), phone: "+48 600 100 200" };
  const cardId = await registerMember(settings, member);

  expect(await registerMember(settings, member)).toBe(cardId);
  expect(service.faults.list()).toEqual([]); // both were injected
});
// #endregion
