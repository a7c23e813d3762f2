/** The cases cover docs/assumptions.md. Here the first case of each runs; `npm run compat -- unknown-service` runs all. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { cases } from "./cases.ts";
import { type Case, useClient, useReceiver } from "./run.ts";

const page = readFileSync(new URL("../../docs/assumptions.md", import.meta.url), "utf8");
const assumptions = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
const rows = Object.entries(cases).map(([assumption, rows]) => ({
  assumption,
  rows: rows.flat(2) as Partial<Case>[],
}));

it("has cases for each assumption, and for nothing else", () => {
  expect(rows.map(({ assumption }) => assumption).sort()).toEqual(assumptions.sort());
  expect(rows.filter(({ rows }) => rows.length < 2)).toEqual([]);
});

const { UNKNOWN_SERVICE } = process.env;
const chosen = rows.flatMap(({ assumption, rows }) =>
  rows
    .map((row, index) => ({ ...row, name: `${assumption} ${index}: ${row.name ?? ""}` }))
    .slice(0, UNKNOWN_SERVICE === "all" ? undefined : 1),
);

// G16
it.each(chosen)("the client and the receiver survive $name", async (row) => {
  const changesClient = row.request ?? row.respond ?? row.response;
  expect(await (changesClient ? useClient(row) : useReceiver(row))).toEqual([]);
});
