/** The mutations cover docs/assumptions.md, and a small sample of mutated services; `npm run compat -- unknown-service` runs all. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Engines, openEngines } from "./consumers.ts";
import { createDraw } from "./mutation.ts";
import { mutations } from "./mutations.ts";
import { createServices, readSeed, runAll } from "./run.ts";

const page = readFileSync(new URL("../../assumptions.md", import.meta.url), "utf8");
const rows = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name as string);
const seed = readSeed();

describe("the mutations and docs/assumptions.md", () => {
  it.each(rows)("%s has at least two mutations", (row) => {
    expect(mutations.filter((mutation) => mutation.row === row).length).toBeGreaterThanOrEqual(2);
  });

  it("has a row for each mutation", () => {
    const without = mutations.filter(({ row }) => !rows.includes(row));
    expect(without.map(({ row, name }) => `${row}: ${name}`)).toEqual([]);
  });

  it("has at least 200 mutations, each with a unique name", () => {
    const names = mutations.map(({ row, name }) => `${row}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(200);
  });
});

describe("the programs", () => {
  let engines: Engines;
  beforeAll(async () => {
    engines = await openEngines();
  });
  afterAll(() => engines.close());

  it(`survives 12 of them (UNKNOWN_SERVICE_SEED=${seed})`, { timeout: 60_000 }, async () => {
    const services = createServices(mutations, { seed, combinations: 10 });
    expect(await runAll(createDraw(seed).shuffled(services).slice(0, 12), engines)).toEqual([]);
  });
});
