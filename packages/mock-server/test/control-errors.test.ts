/** Errors of the control API; CONTROL.md lists every route, and no request makes a route fail. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openControlledShop, openShop, withoutKey } from "./shop.ts";

describe("responds with problem details to", () => {
  const endpoint = "/_mock/webhooks/endpoints";
  it.each<[string, string, string, unknown, number, RegExp]>([
    ["no points", "POST", "/_mock/cards/CARD/purchase", {}, 422, /"points" is missing/],
    [
      "points that are text",
      "POST",
      "/_mock/cards/CARD/purchase",
      { points: "5" },
      422,
      /"points" must be a number, more than 0/,
    ],
    ["0 points", "POST", "/_mock/cards/CARD/reward", { points: 0 }, 422, /more than 0/],
    ["more points than the balance", "POST", "/_mock/cards/CARD/redeem", { points: 1 }, 409, /balance is 0/],
    [
      "a change of 0",
      "POST",
      "/_mock/cards/CARD/correct",
      { change: 0 },
      422,
      /"change" must be a number other than 0/,
    ],
    [
      "an unknown member",
      "POST",
      "/_mock/cards/CARD/purchase",
      { point: 5 },
      422,
      /"point" is not known; there are points/,
    ],
    ["a list as a body", "POST", "/_mock/cards/CARD/purchase", [], 422, /The body must be an object/],
    ["an unknown card", "POST", "/_mock/cards/card_none/purchase", { points: 1 }, 404, /no card "card_none"/],
    ["an unknown operation", "POST", "/_mock/operations/op_none/cancel", undefined, 404, /no operation/],
    [
      "an unknown wallet",
      "PUT",
      "/_mock/cards/CARD/wallets/purse",
      undefined,
      404,
      /no wallet "purse"; there are apple and google/,
    ],
    [
      "a kind of key that is none",
      "POST",
      "/_mock/api-keys",
      { kind: "root" },
      422,
      /"kind" must be one of website, full/,
    ],
    ["a template without a name", "POST", "/_mock/templates", { fields: [] }, 422, /"name" is missing/],
    [
      "a field of a type that is none",
      "POST",
      "/_mock/templates",
      { name: "A", fields: [{ key: "a", type: "date" }] },
      422,
      /"fields.0.type" must be one of/,
    ],
    [
      "a level without a beginning",
      "POST",
      "/_mock/templates",
      { name: "A", tiers: [{ name: "Gold" }] },
      422,
      /"tiers.0.from" is missing/,
    ],
    [
      "an endpoint without events",
      "POST",
      endpoint,
      { url: "https://a.test/", events: [] },
      422,
      /"events" must have at least 1/,
    ],
    [
      "an event that is none",
      "POST",
      endpoint,
      { url: "https://a.test/", events: ["pong"] },
      422,
      /"events.0" must be one of/,
    ],
    [
      "an address beyond this machine without TLS",
      "POST",
      endpoint,
      { url: "http://a.test/", events: ["ping"] },
      422,
      /https/,
    ],
    ["an address that is none", "POST", endpoint, { url: "here", events: ["ping"] }, 422, /is not a URL/],
    ["an unknown endpoint", "POST", `${endpoint}/we_none/test`, undefined, 404, /no webhook endpoint/],
    [
      "an unknown delivery",
      "POST",
      "/_mock/webhooks/deliveries/dlv_none/resend",
      undefined,
      404,
      /no delivery/,
    ],
    [
      "a state that is none",
      "GET",
      "/_mock/webhooks/deliveries?state=lost",
      undefined,
      400,
      /state must be one of/,
    ],
    ["a limit of 0", "GET", "/_mock/cards?limit=0", undefined, 400, /limit must be/],
    ["an offset below 0", "GET", "/_mock/cards?offset=-1", undefined, 400, /offset must be/],
    [
      "a span that is none",
      "POST",
      "/_mock/clock/advance",
      { duration: "soon" },
      422,
      /"soon" is not a duration/,
    ],
    ["a mode that is none", "PUT", "/_mock/clock", { mode: "fast" }, 422, /"mode" must be one of/],
    [
      "a factor of 0",
      "PUT",
      "/_mock/clock",
      { mode: "scaled", factor: 0 },
      422,
      /"factor" must be a number, more than 0/,
    ],
    [
      "a fault of a kind that is none",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "fire" },
      422,
      /"kind" must be one of status/,
    ],
    ["a fault without a phase", "POST", "/_mock/faults", { kind: "reset" }, 422, /"phase" is missing/],
    [
      "a status fault without a status",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "status" },
      422,
      /"status" is missing/,
    ],
    [
      "a fault with another's member",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "reset", delayMs: 1 },
      422,
      /"delayMs" is not known/,
    ],
    [
      "a fault of an operation that is none",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "reset", match: { operation: "pay" } },
      422,
      /"match.operation" must be one of issueCard/,
    ],
    ["an unknown fault", "DELETE", "/_mock/faults/flt_none", undefined, 404, /no fault/],
    ["to wait for nothing", "POST", "/_mock/wait", {}, 422, /one of event, delivery and card/],
    ["to wait for a card without its id", "POST", "/_mock/wait", { card: {} }, 422, /"card.id" is missing/],
    [
      "a timeout of an hour",
      "POST",
      "/_mock/wait",
      { event: {}, timeoutMs: 3_600_000 },
      422,
      /"timeoutMs" must be/,
    ],
    ["broken JSON", "POST", "/_mock/faults", "{", 400, /not JSON/],
    ["an unknown path", "GET", "/_mock/card", undefined, 404, /GET \/_mock\/cards/],
    ["another method", "POST", "/_mock/clock", {}, 405, /GET, PUT/],
  ])("%s", async (_name, method, path, body, status, detail) => {
    const { call, issue } = await openControlledShop();
    const { id } = (await issue()).body;
    const response = await call(method, path.replace("CARD", id), {
      ...withoutKey,
      ...(body !== undefined && { body }),
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "application/problem+json",
    ]);
    expect(response.body.detail).toMatch(detail);
    if (status === 422 && response.body.errors !== undefined) {
      for (const fault of response.body.errors) expect(fault.pointer).toMatch(/^(\/|$)/);
    }
  });
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
  const likely = fc.constantFrom(
    "points",
    "change",
    "name",
    "kind",
    "phase",
    "match",
    "url",
    "events",
    "mode",
    "__proto__",
  );
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
