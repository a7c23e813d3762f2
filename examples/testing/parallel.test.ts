/** Concurrent tests: each starts a server of its own, on any free port. */
// parallel.test.ts
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it } from "vitest";
import { registerMember } from "./register-member.ts";

it.concurrent.each(["one", "another", "a third"])(
  "%s test sees its own cards",
  async () => {
    await using server = await startMockServer({ port: 0 });
    const { url, service } = server;
    const settings = {
      baseUrl: url,
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
