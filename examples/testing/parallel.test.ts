/** Concurrent tests: each starts a server of its own, on any free port. */
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it } from "vitest";
import { registerMember } from "./register-member.ts";

it.concurrent.each(["one", "another", "a third"])(
  "%s test sees its own cards",
  async () => {
    await using mock = await startMockServer({ port: 0 });
    const { apiKeys, cards, templateId, waitFor } = mock.service;
    const cardId = await registerMember(
      { baseUrl: mock.url, apiKey: apiKeys.website, templateId },
      { id: crypto.randomUUID(), phone: "+48 600 100 200" },
    );
    cards.purchase(cardId, { points: 120 });
    const event = { type: "tier.changed", data: { passId: cardId } } as const;
    expect(await waitFor({ event })).toMatchObject([{ data: { tier: "Silver" } }]);
  },
);
