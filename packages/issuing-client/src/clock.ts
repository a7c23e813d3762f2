/** The clock of the system, and waits that end at a time limit or when the caller aborts. */
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import { maxTimerMs } from "@loyalty-cards/internal/limits";
import { type Clock, startBackgroundTimer } from "@loyalty-cards/internal/timers";

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => performance.now(),
  after(ms, wake, isBackground) {
    if (isBackground) return startBackgroundTimer(ms, wake);
    const timer = setTimeout(wake, Math.min(ms, maxTimerMs));
    return () => clearTimeout(timer);
  },
};

interface Wait {
  clock: Clock;
  signal: AbortSignal | undefined;
}

interface LimitedWait<Value> extends Wait {
  /** The time limit. */
  ms: number;
  /** Returns the result when the time limit passes first. */
  otherwise(): Value;
  /** Ends the work when the wait ends early. What the work then does has no effect. */
  stop?: () => void;
}

/**
 * Waits for work until a time limit or an abort, even when the work ignores both. Removes its timer
 * and its listener.
 * @throws the signal's `reason`; and what the work throws.
 */
export function waitWithin<Value>(
  work: Promise<Value>,
  { ms, otherwise, stop, clock, signal }: LimitedWait<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void, isEarly = false) => {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
      settle();
      if (isEarly) stop?.();
    };
    const abort = () => end(() => reject(signal?.reason), true);
    const cancelTimer = clock.after(ms, () => end(() => resolve(otherwise()), true));
    work.then(
      (value) => end(() => resolve(value)),
      (error) => end(() => reject(error)),
    );
    if (signal === undefined) return;
    if (signal.aborted) return abort();
    allowManyListeners(signal);
    signal.addEventListener("abort", abort);
  });
}

const events = getBuiltinModule("node:events") as
  | { setMaxListeners?(count: number, target: AbortSignal): void }
  | undefined;

/**
 * Node warns of a leak at the eleventh listener of a signal, but a program may end all its calls
 * with one.
 */
function allowManyListeners(signal: AbortSignal): void {
  try {
    events?.setMaxListeners?.(0, signal);
  } catch {
    // It takes no signal of jsdom or happy-dom, which give no warning.
  }
}

/**
 * Resolves after `ms` milliseconds.
 * @throws the signal's `reason`.
 */
export function sleep(ms: number, { clock, signal }: Wait): Promise<void> {
  const never = new Promise<void>(() => {});
  return waitWithin(never, { ms, otherwise: () => {}, clock, signal });
}
