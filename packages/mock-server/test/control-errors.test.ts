/** Errors of the control API; CONTROL.md lists every route, and no request makes a route fail. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openControlledShop, openShop } from "./shop.ts";

const endpoints = "webhooks/endpoints";
const remote = { url: "https://a.test/", events: ["ping"] };
const before = { phase: "before" };

it.each<[route: string, body: unknown, status: number, detail: RegExp]>([
  ["POST cards/CARD/purchase", {}, 422, /"points" is missing/],
  ["POST cards/CARD/purchase", { points: "5" }, 422, /"points" must be a number, more than 0/],
  ["POST cards/CARD/reward", { points: 0 }, 422, /more than 0/],
  ["POST cards/CARD/redeem", { points: 1 }, 409, /balance is 0/],
  ["POST cards/CARD/correct", { change: 0 }, 422, /"change" must be a number other than 0/],
  ["POST cards/CARD/purchase", { point: 5 }, 422, /"point" is not known; there are points/],
  ["POST cards/CARD/purchase", [], 422, /The body must be an object/],
  ["POST cards/card_none/purchase", { points: 1 }, 404, /no card "card_none"/],
  ["POST operations/op_none/cancel", undefined, 404, /no operation/],
  ["PUT cards/CARD/wallets/purse", undefined, 404, /no wallet "purse"; there are apple and google/],
  ["POST api-keys", { kind: "root" }, 422, /"kind" must be one of website, full/],
  ["POST templates", { fields: [] }, 422, /"name" is missing/],
  [
    "POST templates",
    { name: "A", fields: [{ key: "a", type: "date" }] },
    422,
    /"fields.0.type" must be one of/,
  ],
  ["POST templates", { name: "A", tiers: [{ name: "Gold" }] }, 422, /"tiers.0.from" is missing/],
  [`POST ${endpoints}`, { ...remote, events: [] }, 422, /"events" must have at least 1/],
  [`POST ${endpoints}`, { ...remote, events: ["pong"] }, 422, /"events.0" must be one of/],
  [`POST ${endpoints}`, { ...remote, url: "http://a.test/" }, 422, /https/],
  [`POST ${endpoints}`, { ...remote, url: "here" }, 422, /is not a URL/],
  [`POST ${endpoints}/we_none/test`, undefined, 404, /no webhook endpoint/],
  ["POST webhooks/deliveries/dlv_none/resend", undefined, 404, /no delivery/],
  ["GET webhooks/deliveries?state=lost", undefined, 400, /state must be one of/],
  ["GET cards?limit=0", undefined, 400, /limit must be/],
  ["GET cards?offset=-1", undefined, 400, /offset must be/],
  ["POST clock/advance", { duration: "soon" }, 422, /"soon" is not a duration/],
  ["PUT clock", { mode: "fast" }, 422, /"mode" must be one of/],
  ["PUT clock", { mode: "scaled", factor: 0 }, 422, /"factor" must be a number, more than 0/],
  ["POST faults", { ...before, kind: "fire" }, 422, /"kind" must be one of status/],
  ["POST faults", { kind: "reset" }, 422, /"phase" is missing/],
  ["POST faults", { ...before, kind: "status" }, 422, /"status" is missing/],
  ["POST faults", { ...before, kind: "reset", delayMs: 1 }, 422, /"delayMs" is not known/],
  [
    "POST faults",
    { ...before, kind: "reset", match: { operation: "pay" } },
    422,
    /"match.operation" must be one of issueCard/,
  ],
  ["DELETE faults/flt_none", undefined, 404, /no fault/],
  ["POST wait", {}, 422, /one of event, delivery and card/],
  ["POST wait", { card: {} }, 422, /"card.id" is missing/],
  ["POST wait", { event: {}, timeoutMs: 3_600_000 }, 422, /"timeoutMs" must be/],
  ["POST faults", "{", 400, /not JSON/],
  ["GET card", undefined, 404, /GET \/_mock\/cards/],
  ["POST clock", {}, 405, /GET, PUT/],
])("responds with problem details to %s %j", async (route, body, status, detail) => {
  const { send, issue } = await openControlledShop();
  const { id } = (await issue()).body;
  const [method = "", path = ""] = route.split(" ");
  const response = await send(method, `/_mock/${path.replace("CARD", id)}`, body);
  const type = response.headers.get("content-type");
  expect([response.status, type]).toEqual([status, "application/problem+json"]);
  expect(response.body.detail).toMatch(detail);
  for (const { pointer } of response.body.errors ?? []) expect(pointer).toMatch(/^(\/|$)/);
});

/** The routes that the service lists in its 404 response. */
async function routes(): Promise<string[]> {
  const { body } = await openShop().call("GET", "/_mock/nothing", { key: null });
  const [, list = ""] = body.detail.split("There are ");
  return list.replace(/\.$/, "").split(", ");
}

it("lists every route in CONTROL.md, and no other", async () => {
  const page = readFileSync(new URL("../CONTROL.md", import.meta.url), "utf8");
  const [, table = ""] = page.split("## Routes");
  const listed = [...(table.split("## Faults")[0]?.matchAll(/^\| (`.+?) \|/gm) ?? [])].flatMap(
    ([, cell = ""]) => {
      const [first = "", ...others] = cell
        .split(" · ")
        .map((part) => part.replaceAll("`", "").replace(/\?.*$/, ""));
      const [method, path = ""] = first.split(" ");
      const siblings = others.map((other) =>
        other.includes(" ") ? other : `${method} ${path.replace(/[^/]+$/, other)}`,
      );
      return [first, ...siblings];
    },
  );
  const named = listed.map((route) => route.replaceAll(/\{\w+\}/g, "*")).sort();
  expect(named).toEqual((await routes()).sort());
});

it("responds without a 500 to random bodies, and keeps its state", async () => {
  const writing = (await routes()).filter(
    (route) => !route.startsWith("GET") && route !== "POST /_mock/wait",
  );
  const shop = openShop();
  const { id } = (await shop.issue()).body;
  const names = "points change name kind phase match url events mode __proto__".split(" ");
  const likely = fc.constantFrom(...names);
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(likely, fc.jsonValue()));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...writing),
      fc.constantFrom(id, "x", "%2e%2e", "__proto__"),
      body,
      async (route, name, value) => {
        const [method = "", path = ""] = route.split(" ");
        const { status } = await shop.call(method, path.replaceAll("*", name), { key: null, body: value });
        expect(status, `${route} ${JSON.stringify(value)}`).toBeLessThan(500);
      },
    ),
    { numRuns: 400 },
  );
});

it("rejects invalid conditions of a wait", async () => {
  const shop = openShop();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const body = { event: value, timeoutMs: 0 };
      expect((await shop.call("POST", "/_mock/wait", { key: null, body })).status).toBeOneOf([200, 408, 422]);
    }),
    { numRuns: 100 },
  );
});
