/**
 * Runs the client, the receiver and the inboxes against services that decided otherwise than docs/assumptions.md.
 * `unknown-service.ts [--seed N] [--only NAME]`; without a seed, here or in UNKNOWN_SERVICE_SEED, one is drawn.
 */
import { parseArgs } from "node:util";
import { openEngines } from "./unknown-service/consumers.ts";
import { mutations } from "./unknown-service/mutations.ts";
import { mutatedServices, readSeed, runAll } from "./unknown-service/run.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, only: { type: "string", default: "" } },
});
const seed = readSeed(values.seed);
const services = mutatedServices(mutations, { seed, combinations: 60 }).filter(({ name }) =>
  name.includes(values.only),
);
if (services.length === 0) throw new Error(`No mutation has "${values.only}" in its name.`);

const engines = await openEngines();
console.log(`seed ${seed}: ${services.length} services, received by ${engines.names.join(", ")}`);
const startedMs = performance.now();
const failures = await runAll(services, engines).finally(() => engines.close());
for (const failure of failures) console.log(`✗ ${failure}`);
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
console.log(
  `${services.length - failures.length} of ${services.length} services survived in ${seconds} s; seed ${seed}`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
