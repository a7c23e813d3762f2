/**
 * Timers that the fake timers of a test do not replace, also when they were replaced before this
 * package is loaded.
 */
import { getBuiltinModule } from "./builtin-module.ts";

type Timers = Pick<typeof globalThis, "setTimeout" | "clearTimeout" | "setImmediate">;

export const {
  setTimeout: setRealTimeout,
  clearTimeout: clearRealTimeout,
  setImmediate: setRealImmediate,
} = (getBuiltinModule("node:timers") ?? globalThis) as Timers;

/**
 * Starts a timer that keeps no process running.
 * @returns a function that cancels it.
 */
export function startBackgroundTimer(ms: number, wake: () => void): () => void {
  const timer: { unref?(): unknown } = setRealTimeout(wake, ms);
  timer.unref?.(); // in some runtimes it is a number
  return () => clearRealTimeout(timer as NodeJS.Timeout);
}
