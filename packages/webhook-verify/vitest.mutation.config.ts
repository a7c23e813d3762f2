/** The tests that have to notice a change of what decides over a delivery; Stryker runs them for each. No sockets. */
import { defineConfig } from "vitest/config";

const conditions = ["@loyalty-cards/source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions: [...conditions, "module", "node", "development|production"] } },
  test: {
    include: [
      "test/{body,on-events,receiver,receiver-handler,receiver-rejections,receiver-secrets,verify}.test.ts",
    ],
  },
});
