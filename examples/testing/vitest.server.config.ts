/** For `npm run test:server`: the tests that need the service on a port. */
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["server/*.spec.ts"] } });
