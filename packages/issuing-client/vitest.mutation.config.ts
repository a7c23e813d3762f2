/** The tests that have to notice a change of what decides over retries, errors and idempotency; Stryker runs them for each. */
import { defineConfig } from "vitest/config";

// Else asctime dates read as local ones would pass; the threads that Stryker uses cannot set it themselves.
process.env["TZ"] = "Asia/Kolkata";
const conditions = ["@loyalty-cards/source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions: [...conditions, "module", "node", "development|production"] } },
  test: {
    include: [
      "test/{configuration,conflicts,deadlines,errors,events,idempotency,issuing-steps,methods,pauses,responses,retries}.test.ts",
    ],
    testTimeout: 60_000, // for a busy machine
    testNamePattern: /^(?!issues 1,000 cards)/, // takes seconds, and runs for each mutant
  },
});
