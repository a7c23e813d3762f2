/**
 * `npm run simulate -- --seed N --histories M`: runs histories of the whole system. A history that
 * breaks a guarantee is shrunk, printed as a timeline, and added to
 * `compat/simulation/regressions.json`, which a test runs from then on. `--kept` runs these.
 * `--built` uses the built packages, `--faults [NAME]` plants the faults of `faults.ts` one after
 * another, `--digest` prints a digest of each trace.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drawHistory } from "./actions.ts";
import { plantedFaults } from "./faults.ts";
import { buildImages, type Images } from "./image.ts";
import { type Run, runHistory, shrink } from "./play.ts";
import type { History } from "./stage.ts";
import { watchFrameworks } from "./world.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    histories: { type: "string", default: "200" },
    built: { type: "boolean", default: false },
    digest: { type: "boolean", default: false },
    kept: { type: "boolean", default: false },
    faults: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const regressions = join(import.meta.dirname, "regressions.json");
const failedBefore: History[] = JSON.parse(readFileSync(regressions, "utf8"));
/** Run instead of drawn histories. */
const kept = values.kept ? failedBefore : [];
const histories = kept.length || Number(values.histories);
if (![seed, histories].every(Number.isSafeInteger)) {
  console.error("--seed and --histories take whole numbers.");
  process.exit(2);
}
watchFrameworks();
let runningSeed = seed;
process.on("uncaughtExceptionMonitor", () =>
  console.log(`The history of seed ${runningSeed} threw:`),
);
if (values.faults) await findFaults();
else await simulate();

async function simulate(): Promise<void> {
  const images = await buildImages({ isBuilt: values.built });
  console.log(`seed ${seed}, ${histories} histories, Node ${process.versions.node}`);
  const startedMs = performance.now();
  const { failing } = await findFailure(images);
  const seconds = (performance.now() - startedMs) / 1000;
  if (failing === undefined) {
    console.log(
      `${histories} histories kept every guarantee: ${(histories / seconds).toFixed(1)} per second.`,
    );
    return;
  }
  const { history, world, violations } = await shrink(failing, images);
  console.log(
    `Seed ${history.seed} breaks a guarantee of docs/guarantees.md. The shortest history that does:\n`,
  );
  console.log(JSON.stringify({ ...history, actions: undefined }));
  console.log(world.trace.join("\n"));
  for (const { guarantee, message } of violations) console.log(`${guarantee}: ${message}`);
  const others = failedBefore.filter(({ seed: other }) => other !== history.seed);
  const text = JSON.stringify([...others, history]).replaceAll(/\{"(seed|atMs)"/g, "\n$&"); // a line for each action
  writeFileSync(regressions, `${text}\n`);
  console.log(`\nThe history is in ${regressions}: a test runs it.`);
  process.exitCode = 1;
}

async function findFailure(images: Images): Promise<{ failing?: Run; runs: number }> {
  for (let index = 0; index < histories; index++) {
    runningSeed = kept[index]?.seed ?? seed + index;
    const run = await runHistory(kept[index] ?? drawHistory(runningSeed), images);
    if (values.digest) console.log(runningSeed, run.world.digest());
    if (run.violations.length > 0) return { failing: run, runs: index + 1 };
  }
  return { runs: histories };
}

async function findFaults(): Promise<void> {
  const chosen = plantedFaults.filter(({ name }) =>
    positionals.every((part) => name.includes(part)),
  );
  let found = 0;
  for (const fault of chosen) {
    const { failing, runs } = await findFailure(await buildImages({ patch: fault }));
    const named = [...new Set(failing?.violations.map(({ guarantee }) => guarantee))];
    const isNamed = named.some((guarantee) => fault.guarantees.includes(guarantee));
    if (isNamed) found++;
    const result =
      failing === undefined ? "not found" : `${named.join(", ")}${isNamed ? "" : ", not its own"}`;
    console.log(`${fault.name.padEnd(64)} ${String(runs).padStart(6)}  ${result}`);
  }
  console.log(
    `${found} of ${chosen.length} found within ${histories} histories, from seed ${seed}.`,
  );
  if (found < chosen.length) process.exitCode = 1;
}
