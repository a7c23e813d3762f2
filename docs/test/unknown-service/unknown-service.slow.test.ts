/**
 * A sample of the mutated services; `npm run compat -- unknown-service` runs all of them. `UNKNOWN_SERVICE_SEED` repeats a run,
 * `UNKNOWN_SERVICE_ONLY` runs the services with this in their name.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Engines, openEngines } from "./consumers.ts";
import { createDraw } from "./mutation.ts";
import { mutations } from "./mutations.ts";
import { createServices, readSeed, runAll } from "./run.ts";

const { UNKNOWN_SERVICE_SAMPLE, UNKNOWN_SERVICE_ONLY = "" } = process.env;
const runsAll = UNKNOWN_SERVICE_SAMPLE === "all" || UNKNOWN_SERVICE_ONLY !== "";
const seed = readSeed();
const all = createServices(mutations, { seed, combinations: runsAll ? 60 : 15 }).filter(({ name }) =>
  name.includes(UNKNOWN_SERVICE_ONLY),
);
const services = runsAll ? all : createDraw(seed).shuffled(all).slice(0, 60);

let engines: Engines;
beforeAll(async () => {
  engines = await openEngines();
});
afterAll(() => engines.close());

it(`survives ${services.length} mutated services (UNKNOWN_SERVICE_SEED=${seed})`, {
  timeout: 900_000,
}, async () => {
  expect(services).not.toEqual([]);
  expect(await runAll(services, engines)).toEqual([]);
});
