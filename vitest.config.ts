/** Runs every test from the sources: packages find each other through the source condition, without a build. */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const conditions = ["@loyalty-cards/source"];
/** As Node resolves: under Vite's own "module" it would load files that were made for bundlers. */
const fromSource = {
  resolve: { conditions },
  ssr: { resolve: { conditions: [...conditions, "node", "development|production"] } },
};

export default defineConfig({
  test: {
    // Most tests wait for sockets, and Vitest would leave one of two processors free: 263 s instead of 449 s on two.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      {
        ...fromSource,
        test: {
          name: "unit",
          include: ["{openapi,docs,scripts,packages/*}/test/**/*.test.ts"],
          exclude: ["**/integration/**"],
        },
      },
      {
        ...fromSource,
        test: {
          name: "integration",
          include: [
            "{openapi,docs,scripts,packages/*}/test/integration/**/*.test.ts",
            "examples/**/*.test.ts",
          ],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "types",
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ["packages/*/test/**/*.test-d.ts"],
            tsconfig: "tsconfig.json",
          },
        },
      },
    ],
  },
});
