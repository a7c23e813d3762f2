/** A tool that replaces functions of node:http sees the requests of the default transport. For MSW, see the tests that open a website. */
import nock from "nock";
import { expect, it, onTestFinished } from "vitest";
import { createIssuingClient } from "../../src/index.ts";

const card = { id: "card_1", publicUrl: "https://cards.test/1", loyaltyBalance: 0 };

it("is intercepted by nock", async () => {
  onTestFinished(() => nock.restore());
  const request = nock("https://cards.test", { reqheaders: { authorization: "Bearer k" } })
    .get("/api/v1/passes/card_1")
    .reply(200, card);
  const client = createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" });
  expect(await client.getCard("card_1")).toEqual(card);
  expect(request.isDone()).toBe(true);
});
