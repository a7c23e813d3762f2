/** The cases cover docs/assumptions.md, and the programs survive a sample of them; `npm run compat -- unknown-service` runs all. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createDraw } from "../../internal/test/draw.ts";
import { useReceivers } from "./receivers.ts";
import { cases, createServices, readSeed, runAll } from "./run.ts";

const page = readFileSync(new URL("../../docs/assumptions.md", import.meta.url), "utf8");
const assumptions = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name as string);
const openReceivers = await useReceivers();
const seed = readSeed();

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

it(`survives 12 of them (UNKNOWN_SERVICE_SEED=${seed})`, { timeout: 60_000 }, async () => {
  const sample = createDraw(seed).shuffled(createServices(seed, 10)).slice(0, 12);
  expect(await runAll(sample, openReceivers)).toEqual([]);
});
