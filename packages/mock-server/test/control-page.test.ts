/** CONTROL.md lists every route, and no request makes a route fail. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openShop } from "./shop.ts";

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
