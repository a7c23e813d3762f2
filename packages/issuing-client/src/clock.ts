/** Time as the client needs it: what moment it is, how long something takes, and being woken later. */
import { onAbort } from "./abort.ts";

/** Time as the client sees it: what it is, and a way to wait. */
export interface Clock {
  /** The date, in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since some moment, which no correction of the date moves back or forth. */
  monotonicMs(): number;
  /** Calls back once, so many milliseconds from now. @returns how to cancel. */
  after(ms: number, wake: () => void): () => void;
}

/** What the runtimes' timers can hold; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => performance.now(),
  after(ms, wake) {
    if (ms <= longestTimerMs) {
      const timer = setTimeout(wake, ms);
      return () => clearTimeout(timer);
    }
    let cancel = () => {};
    const timer = setTimeout(() => {
      cancel = systemClock.after(ms - longestTimerMs, wake);
    }, longestTimerMs);
    return () => {
      clearTimeout(timer);
      cancel();
    };
  },
};

/** Thrown by {@link within} when time is up. */
export class TimeUp extends Error {}

export interface Limits {
  clock: Clock;
  ms: number;
  signal: AbortSignal | undefined;
}

/**
 * Waits for work that has to end in time, and ends waiting at once when it does not or when the caller aborts: not every
 * piece of work listens to a signal. Leaves no timer and no listener behind.
 * @param stop told when waiting ended early, so that the work can end too.
 * @throws {TimeUp}, or the caller's `signal.reason`, or what the work throws.
 */
export function within<Result>(
  { clock, ms, signal }: Limits,
  work: Promise<Result>,
  stop: (reason: unknown) => void = () => {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const end = (reason: unknown) => {
      release();
      reject(reason); // first: what the work says because it was stopped tells nothing
      stop(reason);
    };
    const cancelTimer =
      ms === Number.POSITIVE_INFINITY ? undefined : clock.after(ms, () => end(new TimeUp()));
    const stopListening = signal && onAbort(signal, () => end(signal.reason));
    const release = () => {
      cancelTimer?.();
      stopListening?.();
    };
    work.then(
      (result) => {
        release();
        resolve(result);
      },
      (error) => {
        release();
        reject(error);
      },
    );
    if (signal?.aborted) end(signal.reason);
  });
}

/** Resolves after a pause. @throws the caller's `signal.reason` as soon as that is aborted. */
export async function pause(limits: Limits): Promise<void> {
  await within(limits, new Promise<void>(() => {})).catch((error) => {
    if (!(error instanceof TimeUp)) throw error;
  });
}
