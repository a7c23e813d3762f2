/**
 * A larger sample of the cases; `npm run compat -- unknown-service` runs all of them. `UNKNOWN_SERVICE_SEED` repeats a run,
 * `UNKNOWN_SERVICE_ONLY` runs the services with this in their name.
 */
// G16
import { expect, it } from "vitest";
import { useReceivers } from "./receivers.ts";
import { chooseServices, runAll, seed } from "./run.ts";

const { UNKNOWN_SERVICE_SAMPLE, UNKNOWN_SERVICE_ONLY } = process.env;
const runsAll = UNKNOWN_SERVICE_SAMPLE === "all" || UNKNOWN_SERVICE_ONLY !== undefined;
const services = runsAll ? chooseServices(60, Number.POSITIVE_INFINITY) : chooseServices(15, 60);
const openReceivers = await useReceivers();

it(`survives ${services.length} services (UNKNOWN_SERVICE_SEED=${seed})`, { timeout: 900_000 }, async () => {
  expect(services).not.toEqual([]);
  expect(await runAll(services, openReceivers)).toEqual([]);
});
