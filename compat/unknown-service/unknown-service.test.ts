/** The cases cover docs/assumptions.md. Here the first case of each runs; `npm run compat -- unknown-service` runs all. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { cases } from "./cases.ts";
import { type Case, useClient, useReceiver } from "./run.ts";

const page = readFileSync(new URL("../../docs/assumptions.md", import.meta.url), "utf8");
const assumptions = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
const limit = process.env["UNKNOWN_SERVICE"] === "all" ? Number.POSITIVE_INFINITY : 1;

const names: string[] = [];
const rows = cases.flatMap((one) => {
  if (typeof one !== "string")
    return ([one].flat(9) as Partial<Case>[]).map((row) => [names.at(-1), row] as const);
  names.push(one);
  return [];
});
const chosen = names.flatMap((assumption) => rows.filter(([name]) => name === assumption).slice(0, limit));

it("has cases for each assumption, and for nothing else", () => {
  expect(names.sort()).toEqual(assumptions.sort());
  expect(new Set(rows.map(([name]) => name))).toEqual(new Set(names));
});

// G16
it.each(chosen)("the client and the receiver survive another %s: %o", async (_name, row) => {
  const changesClient = row.request ?? row.respond ?? row.response;
  expect(await (changesClient ? useClient(row) : useReceiver(row))).toEqual([]);
});
