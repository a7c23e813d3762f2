/** The tests that have to notice a change of what decides over retries, errors and idempotency; Stryker runs them for each. */
import { defineConfig } from "vitest/config";

const conditions = ["@loyalty-cards/source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions: [...conditions, "module", "node", "development|production"] } },
  test: {
    include: [
      "test/{deadlines,idempotency,in-flight,pauses,problems,retries,retry-budget,retry-policy}.test.ts",
    ],
  },
});
