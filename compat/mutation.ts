/**
 * Changes the code of a part, one expression at a time, and runs the tests that have to notice it:
 * `npm run compat:mutation -- client`, or without a name all of `mutation.json`, minutes each.
 */
import { Stryker } from "@stryker-mutator/core";
import parts from "./mutation.json" with { type: "json" };

type Part = keyof typeof parts;

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts);
for (const name of names) {
  const part = parts[name as Part];
  if (!part) throw new Error(`No part "${name}": use ${Object.keys(parts).join(", ")}.`);
  process.env["MUTATED_PART"] = name; // read by mutation.config.ts
  await new Stryker({
    testRunner: "vitest",
    vitest: { configFile: "compat/mutation.config.ts", related: false },
    mutate: part.mutate,
    ignorePatterns: ["dist", "docs", "benchmarks", "sbom"],
    concurrency: 2,
    timeoutMS: 20_000, // for a busy machine: what ends late counts as found
    reporters: ["clear-text", "progress-append-only"],
    clearTextReporter: { allowColor: false, reportTests: false },
    thresholds: { high: 95, low: 95, break: 95 },
  }).runMutationTest();
}
