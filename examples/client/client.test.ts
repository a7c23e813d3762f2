/** The client's examples do what the README says. */
import { createIssuingClient, type IssuingError } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { nextMoveAfter } from "./failures.ts";
import { addToWalletLinks } from "./links.ts";
import { openClient } from "./much.ts";
import { joinCoffeeClub } from "./template.ts";

const template = {
  id: "tpl_coffee",
  name: "Coffee club",
  fields: [{ key: "name", type: "name", required: true }],
} as const;

async function open() {
  const { url, service, close } = await startMockServer({ templates: [template] });
  onTestFinished(close);
  return { url, service, loyalty: createIssuingClient({ baseUrl: url, apiKey: service.apiKeys.website }) };
}

it("issues one card per user, from the environment", async () => {
  const { url, service } = await open();
  Object.assign(process.env, {
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: template.id,
  });
  const { issueCardTo } = await import("./issue.ts");
  const anna = { id: crypto.randomUUID(), name: "Anna", phone: "+48600100200" };
  const card = await issueCardTo(anna);
  expect((await issueCardTo(anna)).id).toBe(card.id);
  expect(addToWalletLinks(card)).toEqual({
    qrCode: card.publicUrl,
    addToFirstWallet: `${card.publicUrl}/pass.pkpass`,
    addToSecondWallet: `${card.publicUrl}/google`,
  });
});

it("issues a card over undici", async () => {
  const { url, service } = await open();
  const { loyalty, close } = openClient(url, service.apiKeys.website);
  onTestFinished(close);
  expect(await joinCoffeeClub(loyalty, crypto.randomUUID(), "Ben")).toBe("Ben");
});

it("types the fields of a template", async () => {
  const { loyalty } = await open();
  expect(await joinCoffeeClub(loyalty, crypto.randomUUID(), " Anna ")).toBe("Anna");
});

it("knows the next move after each failure", async () => {
  const { url, service, loyalty } = await open();
  const failure = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (error: IssuingError) => error,
    );
  const request = { customer: { consents: { privacy: { version: "1" } } } };
  const down = createIssuingClient({ baseUrl: "http://127.0.0.1:1", apiKey: "k", maxRetries: 0 });
  const stranger = createIssuingClient({ baseUrl: url, apiKey: "k" });
  expect(nextMoveAfter(await failure(loyalty.issueCard(template.id, request)))).toEqual({
    show: 'Please fill in "name".',
  });
  expect(nextMoveAfter(await failure(down.getCard("card_1")))).toEqual({ tryAgainLater: true });
  expect(nextMoveAfter(await failure(stranger.getCard("card_1")))).toHaveProperty("callADeveloper");
  expect(() => nextMoveAfter(new RangeError("mine"))).toThrow("mine");
  expect(service.baseUrl).toBe(url);
});
