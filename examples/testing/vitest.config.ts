/** For `npm test`: the tests that run in one process. */
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["*.test.ts"] } });
