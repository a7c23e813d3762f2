/** `npm run simulate -- --seed N --histories M`: runs histories of the whole system, and prints the first that breaks a guarantee. */
import { parseArgs } from "node:util";
import { drawHistory, runHistory } from "./history.ts";
import { buildImages } from "./image.ts";
import { countImmediates } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    histories: { type: "string", default: "200" },
    built: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
  },
});
countImmediates();
const images = await buildImages({ isBuilt: values.built });
const first = Number(values.seed);
const startedMs = performance.now();
let bad = 0;
for (let seed = first; seed < first + Number(values.histories); seed++) {
  const t = performance.now();
  const run = await runHistory(drawHistory(seed), images);
  if (performance.now() - t > 600) console.log(seed, "slow", performance.now() - t);
  if (values.trace) console.log(run.world.trace.join("\n"), run.world.digest());
  if (run.violations.length > 0) {
    bad++;
    console.log(seed, run.violations.map((v) => `${v.guarantee}: ${v.message}`).slice(0, 3));
  }
}
const s = (performance.now() - startedMs) / 1000;
console.log(
  `${values.histories} histories, ${bad} bad, ${s.toFixed(1)} s, ${(Number(values.histories) / s).toFixed(1)} per second`,
);
