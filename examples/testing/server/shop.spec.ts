/** The same shop against the mock server on a port, over real sockets. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { expect, it, onTestFinished } from "vitest";
import { join } from "../join.ts";

// set by loyalty-cards exec
const { LOYALTY_URL, LOYALTY_TEMPLATE_ID = "" } = process.env;
const loyalty = createIssuingClient(); // reads LOYALTY_URL and LOYALTY_API_KEY

/** Calls the control API, which does what the shop's staff do in the console. */
const control = async (path: string, body: unknown) => {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return (await fetch(`${LOYALTY_URL}/_mock/${path}`, init)).json();
};

it("issues a card after a lost response, and changes its balance", async () => {
  const fault = {
    phase: "after-commit",
    kind: "truncate",
    times: 1,
    match: { operation: "issueCard" },
  };
  await control("faults", fault);

  const folder = mkdtempSync(`${tmpdir()}/shop-`);
  const outbox = sqliteOutbox({ client: loyalty, file: `${folder}/shop.db` });
  onTestFinished(async () => {
    await outbox.close();
    rmSync(folder, { recursive: true });
  });
  const anna = { id: crypto.randomUUID(), name: "Anna", phone: "+48600100200" };
  const joined = await join(outbox, LOYALTY_TEMPLATE_ID, anna);
  if (!("cardId" in joined)) throw new Error("There is no card.");
  await control(`cards/${joined.cardId}/purchase`, { points: 120 });

  const card = { id: joined.cardId, loyaltyBalance: 120 };
  const cards = { items: [{ loyaltyTier: "Silver" }] };
  expect(await control("wait", { card })).toMatchObject(cards);
  expect((await loyalty.listOperations(joined.cardId)).length).toBe(1);
});
