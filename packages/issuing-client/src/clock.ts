/** Time as the client sees it, and waits that end at a time limit or when the caller aborts. */
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import type { Clock } from "@loyalty-cards/internal/issuing-steps";
import { maxTimerMs } from "@loyalty-cards/internal/limits";

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => performance.now(),
  after(ms, wake) {
    const timer = setTimeout(wake, Math.min(ms, maxTimerMs));
    return () => clearTimeout(timer);
  },
};

type Limits = { clock: Clock; signal: AbortSignal | undefined };

/** What {@link waitWithin} returns at its time limit. */
export const timeLimit = Symbol("time limit");

/**
 * Waits for work until a time limit or an abort, even when the work ignores both. Removes its timer and its listener.
 * @param stop ends the work when the wait ends early. What the work then does has no effect.
 * @throws the signal's `reason`; and what the work throws.
 */
export function waitWithin<Result>(
  ms: number,
  work: Promise<Result>,
  { clock, signal }: Limits,
  stop?: () => void,
): Promise<Result | typeof timeLimit> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
      settle();
    };
    const endEarly = (settle: () => void) => {
      end(settle);
      stop?.();
    };
    const abort = () => endEarly(() => reject(signal?.reason));
    const cancelTimer = clock.after(ms, () => endEarly(() => resolve(timeLimit)));
    work.then(
      (result) => end(() => resolve(result)),
      (error) => end(() => reject(error)),
    );
    if (signal === undefined) return;
    if (signal.aborted) return abort();
    allowManyListeners(signal);
    signal.addEventListener("abort", abort);
  });
}

/** Node warns of a leak at the eleventh listener of a signal, but a program may end all its calls with one. */
function allowManyListeners(signal: AbortSignal): void {
  const events = getBuiltinModule("node:events") as
    | { setMaxListeners?(count: number, target: AbortSignal): void }
    | undefined;
  events?.setMaxListeners?.(0, signal);
}

/** Resolves after `ms` milliseconds. @throws the signal's `reason`. */
export async function sleep(ms: number, limits: Limits): Promise<void> {
  await waitWithin(ms, new Promise<never>(() => {}), limits);
}
