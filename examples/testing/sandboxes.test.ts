/** Concurrent tests on one server: each has its own sandbox. */
// #region sandboxes
// sandboxes.test.ts
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { registerMember } from "./register-member.ts";

let server: MockServer;
beforeAll(async () => {
  server = await startMockServer();
});
afterAll(() => server.close());

it.concurrent.each(["one", "another", "a third"])(
  "%s test sees its own cards",
  async () => {
    const service = server.service.sandboxes.create();
    const settings = {
      baseUrl: server.url,
      apiKey: service.apiKeys.website,
      templateId: service.templateId,
    };
    const cardId = await registerMember(settings, {
      id: crypto.randomUUID(),
      phone: "+48 600 100 200",
    });

    service.cards.purchase(cardId, { points: 120 });
    const [event] = await service.waitFor({
      event: { type: "tier.changed", data: { passId: cardId } },
    });
    expect(event).toMatchObject({ data: { tier: "Silver", previous: null } });
  },
);
// #endregion
