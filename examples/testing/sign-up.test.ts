/** Tests a sign-up against the whole service, in process, with MSW. */
// #region test-with-mock
// sign-up.test.ts
import { createMockService } from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { registerMember } from "./register-member.ts";

const service = createMockService();
const server = setupServer(...mockHandlers(service));

beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
beforeEach(() => service.reset());
afterAll(() => server.close());

const settings = {
  baseUrl: service.baseUrl,
  apiKey: service.apiKeys.website,
  templateId: service.templateId,
};

it("issues one card to a form that is submitted twice", async () => {
  const member = { id: crypto.randomUUID(), phone: "+48 600 100 200" };
  const cardId = await registerMember(settings, member);
  expect(await registerMember(settings, member)).toBe(cardId);

  service.cards.purchase(cardId, { points: 120 });
  expect(service.cards.get(cardId)).toMatchObject({
    loyaltyBalance: 120,
    loyaltyTier: "Silver",
  });
});
// #endregion
