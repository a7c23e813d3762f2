/**
 * The clock of the packages, and timers that the fake timers of a test do not replace, also when
 * they were replaced before this package is loaded.
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

/** The clock and timers of a package. Tests replace it to control timeouts and delays. */
export interface Clock {
  /** The current date, in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Corrections of the date do not change it. */
  monotonicMs(): number;
  /**
   * Calls `wake` once, after `ms` milliseconds.
   * @param isBackground whether the timer keeps no process running.
   * @returns a function that cancels the timer.
   */
  after(ms: number, wake: () => void, isBackground?: boolean): () => void;
}
