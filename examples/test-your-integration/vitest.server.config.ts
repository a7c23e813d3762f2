/** For `npm run test:server`: the tests that need the service on a port. */
import { mergeConfig } from "vitest/config";
import ordinary from "./vitest.config.ts";

export default mergeConfig(ordinary, { test: { include: ["server/**/*.spec.ts"] } });
