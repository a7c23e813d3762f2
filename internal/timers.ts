/**
 * Timers that the fake timers of a test do not replace, also when they were replaced before this
 * package is loaded.
 */
import { getBuiltinModule } from "./builtin-module.ts";

type Timers = Pick<typeof globalThis, "setTimeout" | "setImmediate">;

export const { setTimeout: setRealTimeout, setImmediate: setRealImmediate } = (getBuiltinModule(
  "node:timers",
) ?? globalThis) as Timers;
