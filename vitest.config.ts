/** Runs the tests from the sources: packages resolve each other with the source condition, without a build. */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const conditions = ["@loyalty-cards/source"];
/** Resolves as Node does. Vite's own condition "module" would load files for bundlers. */
const fromSource = {
  resolve: { conditions },
  ssr: { resolve: { conditions: [...conditions, "node", "development|production"] } },
};

/** What `expect.poll` waits for is real work; the default of 1 s is too short for a busy machine. */
const poll = { timeout: 30_000 };

/** For a busy machine: no test asserts its own duration, except with a timeout of its own. */
const timeouts = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll } };

/** Long tests: `npm run check` and `npx vitest run --project slow` run them, `npm test` does not. */
const slow = "**/*.slow.test.ts";

const globalSetup = "testing/bundled-commands.ts";
const setupFiles = "testing/restore-environment.ts";

export default defineConfig({
  test: {
    // Most tests wait for sockets and other processes: four workers keep two processors busy.
    maxWorkers: Math.max(4, availableParallelism()),
    projects: [
      {
        ...fromSource,
        test: {
          name: "unit",
          include: [
            "{internal,tools/*,packages/*}/test/**/*.test.ts",
            "compat/unknown-service/*.test.ts",
          ],
          exclude: ["**/node_modules/**", "**/integration/**", slow],
          setupFiles,
          ...timeouts,
          isolate: false, // no test depends on the state of shared modules: 35 s, not 59 s
        },
      },
      {
        ...fromSource,
        test: {
          name: "integration",
          include: [
            "{internal,tools/*,packages/*}/test/integration/**/*.test.ts",
            "examples/**/*.test.ts",
            "compat/simulation/*.test.ts",
          ],
          exclude: ["**/node_modules/**", slow, "examples/workers/**"], // it has its own packages
          globalSetup,
          setupFiles,
          ...timeouts,
          isolate: false, // as above: 82 s of processor time instead of 99
        },
      },
      {
        ...fromSource,
        test: {
          name: "slow",
          include: [
            "{internal,tools/*,packages/*}/test/**/*.slow.test.ts",
            "compat/unknown-service/*.test.ts",
          ],
          env: { UNKNOWN_SERVICE: "all" },
          globalSetup,
          ...timeouts,
          testTimeout: 120_000,
        },
      },
    ],
  },
});
