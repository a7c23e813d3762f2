/** A sample of the services that decided otherwise; `npm run test:unknown-service` runs all of them. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Engines, openEngines } from "../../unknown-service/consumers.ts";
import { createDraw } from "../../unknown-service/mutation.ts";
import { mutations } from "../../unknown-service/mutations.ts";
import { mutatedServices, readSeed, runAll } from "../../unknown-service/run.ts";

const page = readFileSync(new URL("../../../docs/assumptions.md", import.meta.url), "utf8");
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

  it("has at least 200 mutations, each with a name of its own", () => {
    const names = mutations.map(({ row, name }) => `${row}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(200);
  });
});

describe("services that decided otherwise", () => {
  let engines: Engines;
  beforeAll(async () => {
    engines = await openEngines();
  });
  afterAll(() => engines.close());

  it(`survives 40 of them (UNKNOWN_SERVICE_SEED=${seed} draws the same)`, { timeout: 120_000 }, async () => {
    const services = mutatedServices(mutations, { seed, combinations: 10 });
    expect(await runAll(createDraw(seed).shuffled(services).slice(0, 40), engines)).toEqual([]);
  });
});
