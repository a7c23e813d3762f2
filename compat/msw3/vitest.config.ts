/** The tests of the mock server's doors, with MSW 3 in the place of MSW 2; run it with the Node 24 beside it. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const msw = (entry: string) => fileURLToPath(new URL(`node_modules/msw/lib/${entry}.js`, import.meta.url));
const conditions = ["@loyalty-cards/source"];

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: {
    conditions,
    alias: [
      { find: /^msw$/, replacement: msw("core/index") },
      { find: /^msw\/node$/, replacement: msw("node/index") },
    ],
  },
  ssr: { resolve: { conditions: [...conditions, "module", "node", "development|production"] } },
  test: {
    include: ["packages/mock-server/test/integration/hosts.test.ts", "examples/test-with-mock/*.test.ts"],
    testTimeout: 20_000,
  },
});
