/** Time as the client needs it: what moment it is, how long something takes, and being woken later. */
import { onAbort, type Stop } from "./abort.ts";

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
  /** On the monotonic clock. Asked again when that moment has come: it may be later by then. */
  endsAtMs: () => number;
  signal: AbortSignal | Stop | undefined;
}

/**
 * Waits for work that has to end in time, and ends waiting at once when it does not or when the caller aborts: not every
 * piece of work listens to a signal. Leaves no timer and no listener behind.
 * @param stop called when waiting ends early, so that the work can end too. What it gives is waited for instead.
 * @throws {TimeUp}, or the caller's `signal.reason`, or what the work throws.
 */
export function within<Result>(
  { clock, endsAtMs, signal }: Limits,
  work: Promise<Result>,
  stop: (reason: unknown) => Promise<Result> | undefined = () => undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const end = (reason: unknown) => {
      release();
      const instead = stop(reason); // what the work says because it was stopped comes too late
      if (instead === undefined) reject(reason);
      else resolve(instead);
    };
    const startTimer = (atMs: number): (() => void) | undefined => {
      if (atMs === Number.POSITIVE_INFINITY) return undefined;
      return clock.after(atMs - clock.monotonicMs(), () => {
        const laterMs = endsAtMs();
        if (laterMs > atMs) cancelTimer = startTimer(laterMs);
        else end(new TimeUp());
      });
    };
    let cancelTimer = startTimer(endsAtMs());
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

/** Resolves after a pause, or when the deadline ends it. @throws `signal.reason` as soon as that is aborted otherwise. */
export async function pause(clock: Clock, ms: number, signal: Stop): Promise<void> {
  const endsAtMs = clock.monotonicMs() + ms;
  const limits = { clock, endsAtMs: () => endsAtMs, signal };
  await within(limits, new Promise<void>(() => {})).catch((error) => {
    if (!(error instanceof TimeUp)) throw error;
  });
}
