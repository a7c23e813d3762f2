/** The test suites of this folder, one project each; `npm run compat -- NAME` runs one. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const msw = (entry: string) => here(`node_modules/msw-3/lib/${entry}.js`);
const conditions = ["@loyalty-cards/source"];
/**
 * What `expect.poll` waits for is real work; the default of 1 s is too short for a busy machine.
 */
const poll = { timeout: 30_000 };

/** For suites that mostly wait. */
const twoAtATime = { fileParallelism: true, maxWorkers: 2 };

/**
 * A suite that tests the sources. It runs files of the packages with another major version of a
 * peer, which its alias names.
 */
const fromSource = (
  name: string,
  include: string[],
  alias: { find: RegExp; replacement: string }[] = [],
  options = {},
) => ({
  root: here(".."),
  ssr: { resolve: { conditions: [...conditions, "module", "node", "development|production"] } },
  resolve: { conditions, alias },
  test: { name, include, testTimeout: 60_000, hookTimeout: 60_000, expect: { poll }, ...options },
});

/** A suite that tests the built packages. */
const built = (name: string, testTimeout: number, folder = name, options = {}) => ({
  test: {
    name,
    dir: here(folder),
    include: ["*.test.mjs"],
    testTimeout,
    expect: { poll },
    hookTimeout: 300_000,
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
    ...options,
  },
});

export default defineConfig({
  root: here("."),
  test: {
    // Some suites measure time, and all of them start processes that use every processor.
    fileParallelism: false,
    projects: [
      built("runtimes", 90_000), // runtimes.mjs lists them
      built("bundlers", 60_000), // the client in browsers
      built("browser", 120_000, "..", {
        include: ["packages/*/test/browser/*.test.mjs", "examples/test/*.test.mjs"],
        ...twoAtATime, // each file has its own browser and services
      }),
      built("site", 120_000, "../tools/docs/test/browser"), // after npm run docs
      built("next", 60_000), // the packed packages and the Next example, built by both bundlers
      // Needs the Node 24 in node_modules, as the suite msw3.
      fromSource(
        "pg-boss",
        [
          "packages/webhook-inbox/test/integration/{pg-boss,outage,many-processes,postgres-crash.slow}.test.ts",
          "examples/fleet.test.ts",
          "examples/snippets/{erase,inbox/inbox}.test.ts",
        ],
        [],
        twoAtATime, // each file has its own databases
      ),
      fromSource("frameworks", ["compat/frameworks/*.test.ts"]),
      fromSource(
        "express-4",
        ["packages/webhook-verify/test/integration/every-adapter.test.ts"],
        [{ find: /^express$/, replacement: here("node_modules/express-4/index.js") }],
      ),
      // Needs the Node 24 in node_modules.
      fromSource(
        "msw3",
        ["packages/mock-server/test/integration/adapters.test.ts", "examples/testing/*.test.ts"],
        [
          { find: /^msw$/, replacement: msw("core/index") },
          { find: /^msw\/node$/, replacement: msw("node/index") },
        ],
      ),
    ],
  },
});
