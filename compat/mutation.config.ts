/** The tests that have to notice a change of a part; of them Stryker runs those that reach it. */
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { entryPoints } from "../tools/packages.ts";
import parts from "./mutation.json" with { type: "json" };

// Else asctime dates read as local ones would pass; the threads that Stryker uses cannot set it
// themselves.
process.env["TZ"] = "Asia/Kolkata";
/** The first two take seconds, and would run for each mutant; the third is a ratio of times. */
const slowOrTimed = [
  "issues 200 cards",
  "an outage of thirty hours",
  "the bytes of a body are decoded from base64 in a time",
];
const conditions = ["@loyalty-cards/source"];

export default defineConfig({
  resolve: {
    conditions,
    // Stryker changes a copy of the repository, whose node_modules lead to the original.
    alias: [
      {
        find: /^@loyalty-cards\/(internal|testing)\/(.*)$/,
        replacement: `${resolve(import.meta.dirname, "..")}/$1/$2.ts`,
      },
      ...entryPoints.map(({ specifier, source }) => ({
        find: new RegExp(`^${specifier}$`),
        replacement: source,
      })),
    ],
  },
  ssr: { resolve: { conditions: [...conditions, "module", "node", "development|production"] } },
  test: {
    // Stryker ignores a file that cannot be loaded: its "Ran N tests" must be the number that
    // Vitest runs with this configuration and the variable.
    include: parts[process.env["MUTATED_PART"] as keyof typeof parts].tests,
    testTimeout: 60_000, // for a busy machine
    testNamePattern: new RegExp(`^(?!${slowOrTimed.join("|")})`),
  },
});
