/** Strict services hold themselves against the document, and say what differs. */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { expect, it } from "vitest";
import { inspectAnswer, inspectEvent } from "../src/strict.ts";
import { openShop, receiver, signUp } from "./shop.ts";

it("a strict service does all its work as before", async () => {
  const inbox = receiver();
  const { service, call, issue } = openShop({ strict: true, deliver: inbox.deliver });
  const { id: endpointId } = inbox.subscribe(service, Object.keys(openapi.webhooks) as never);
  const issued = await issue(
    signUp({ phone: "+48600100200", consents: { privacy: { version: "1" }, marketing: {} } }),
  );
  const { id } = issued.body;
  service.cards.purchase(id, { points: 120 });
  service.cards.addToWallet(id, "apple");
  service.cards.removeFromWallet(id, "apple");
  service.webhooks.sendTest(endpointId);
  await service.idle();
  expect(new Set(inbox.events.map(({ type }) => type))).toEqual(new Set(Object.keys(openapi.webhooks)));
  const statuses = [];
  for (const path of ["", "/operations", "/consent", "/operations?limit=0"])
    statuses.push((await call("GET", `/api/v1/passes/${id}${path}`)).status);
  statuses.push((await call("GET", "/api/v1/passes/card_none")).status, (await issue({})).status);
  expect([issued.status, statuses]).toEqual([201, [200, 200, 200, 400, 404, 422]]);
});

it("a service that breaks the contract says where", async () => {
  // Identifiers that are no strings: a card that the document does not know.
  const { call } = openShop({
    strict: true,
    newIdentifier: ((prefix: string) => (prefix === "cus" ? 7 : `${prefix}_1`)) as never,
  });
  const { status, body } = await call("POST", "/api/v1/templates/tpl_club/passes", { body: signUp() });
  expect([status, body.detail]).toEqual([
    500,
    expect.stringMatching(/issueCard, 201 .*Card says: \/customerId/),
  ]);
});

it("statuses, answers and events beyond the document are told", () => {
  expect(() => inspectAnswer("getCard", { status: 202, body: {} })).toThrow("getCard may not answer 202.");
  expect(() => inspectAnswer("getCard", { status: 200, body: {} })).toThrow(/Card says: .*'id'/);
  expect(() => inspectEvent("ping", { id: "evt_1", type: "pong" })).toThrow(/event ping .*PingEvent/);
  expect(() => inspectEvent("pong", {})).toThrow(/no schema/);
});
