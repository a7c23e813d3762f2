/** Responses and events are as the OpenAPI document describes, and the validation of the tests notices when they are not. */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { expect, it } from "vitest";
import { createMockService } from "../src/index.ts";
import {
  caller,
  expectDescribedEvent,
  expectDescribedEvents,
  expectDescribedResponse,
  openShop,
  receiveEveryEvent,
  signUp,
  template,
} from "./shop.ts";

it("emits events of every type as the document describes", async () => {
  const types = (await receiveEveryEvent()).map(({ type }) => type); // validated when they are received
  expect(new Set(types)).toEqual(new Set(Object.keys(openapi.webhooks)));
});

it("responds as the document describes", async () => {
  const { service, call, issue } = openShop();
  const issued = await issue(signUp({ phone: "+48600100200" }));
  const { id } = issued.body;
  service.cards.purchase(id, { points: 120 });
  const statuses = [];
  for (const path of ["", "/operations", "/consent", "/operations?limit=0"])
    statuses.push((await call("GET", `/api/v1/passes/${id}${path}`)).status);
  statuses.push((await call("GET", "/api/v1/passes/card_none")).status, (await issue({})).status);
  expect([issued.status, statuses]).toEqual([201, [200, 200, 200, 400, 404, 422]]);
});

/** Ids that are numbers: cards and events that the document does not describe. */
const withNumericIds = (prefix: string) =>
  createMockService({
    templates: [template],
    testing: { generateId: ((wanted: string) => (wanted === prefix ? 7 : `${wanted}_1`)) as never },
  });

it("reports a response that differs from the document", async () => {
  const service = withNumericIds("cus");
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  await expect(call("POST", "/api/v1/templates/tpl_club/passes", { body: signUp() })).rejects.toThrow(
    /Card describes: .*customerId must be string/,
  );
});

it("reports an event that differs from the document, although no endpoint receives it", async () => {
  const service = withNumericIds("card");
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  await expect(call("POST", "/api/v1/templates/tpl_club/passes", { body: signUp() })).rejects.toThrow();
  service.cards.purchase(7 as never, { points: 1 });
  expect(() => expectDescribedEvents(service)).toThrow(/passId must be string/);
});

it("reports statuses, shapes and event types that the document does not describe", async () => {
  const respond = (status: number) =>
    expectDescribedResponse("/api/v1/passes/card_1", "GET", Response.json({}, { status }));
  await expect(respond(202)).rejects.toThrow("GET /passes/{id} must not respond 202");
  await expect(respond(200)).rejects.toThrow(/Card describes: .*'id'/);
  expect(() => expectDescribedEvent("ping", { id: "evt_1", type: "pong" })).toThrow(/PingEvent describes/);
  expect(() => expectDescribedEvent("pong", {})).toThrow("the document has no pong");
});
