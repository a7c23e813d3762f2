/**
 * A larger sample of the cases; `npm run compat -- unknown-service` runs all of them. `UNKNOWN_SERVICE_SEED` repeats a run,
 * `UNKNOWN_SERVICE_ONLY` runs the services with this in their name.
 */
import { expect, it } from "vitest";
import { createDraw } from "../../internal/test/draw.ts";
import { useReceivers } from "./receivers.ts";
import { createServices, readSeed, runAll } from "./run.ts";

const { UNKNOWN_SERVICE_SAMPLE, UNKNOWN_SERVICE_ONLY = "" } = process.env;
const runsAll = UNKNOWN_SERVICE_SAMPLE === "all" || UNKNOWN_SERVICE_ONLY !== "";
const seed = readSeed();
const all = createServices(seed, runsAll ? 60 : 15).filter(({ name }) => name.includes(UNKNOWN_SERVICE_ONLY));
const services = runsAll ? all : createDraw(seed).shuffled(all).slice(0, 60);
const openReceivers = await useReceivers();

it(`survives ${services.length} changed services (UNKNOWN_SERVICE_SEED=${seed})`, {
  timeout: 900_000,
}, async () => {
  expect(services).not.toEqual([]);
  expect(await runAll(services, openReceivers)).toEqual([]);
});
