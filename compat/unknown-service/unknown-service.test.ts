/** The cases cover docs/assumptions.md, and the programs survive a sample of them. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { useReceivers } from "./receivers.ts";
import { cases, chooseServices, runAll, seed } from "./run.ts";

const page = readFileSync(new URL("../../docs/assumptions.md", import.meta.url), "utf8");
const assumptions = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name as string);
const openReceivers = await useReceivers();

it.each(assumptions)("%s has at least two cases", (name) => {
  expect(cases.filter(({ assumption }) => assumption === name).length).toBeGreaterThanOrEqual(2);
});

it("has an assumption for each case", () => {
  expect(cases.filter(({ assumption }) => !assumptions.includes(assumption))).toEqual([]);
});

it("has at least 300 cases, each with a unique name", () => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  expect(cases.length).toBeGreaterThanOrEqual(300);
});

// G16
it(`survives 12 services (UNKNOWN_SERVICE_SEED=${seed})`, { timeout: 60_000 }, async () => {
  expect(await runAll(chooseServices(10, 12), openReceivers)).toEqual([]);
});
