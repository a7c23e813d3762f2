/**
 * The tests in one process (`npm test`), and those in `server`, which need the service on a port
 * (`npm run test:server`).
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["*.test.ts", "server/*.spec.ts"] },
});
