/** Time as the client needs it: what moment it is, and being woken later. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once, so many milliseconds from now. @returns how to cancel. */
  after(ms: number, wake: () => void): () => void;
}

/** What the runtimes' timers can hold; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: Date.now,
  after(ms, wake) {
    const isTooLong = ms > longestTimerMs;
    let cancel = () => {};
    const next = isTooLong ? () => (cancel = systemClock.after(ms - longestTimerMs, wake)) : wake;
    const timer = setTimeout(next, Math.min(ms, longestTimerMs));
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
    const cancelTimer = ms === Number.POSITIVE_INFINITY ? () => {} : clock.after(ms, () => end(new TimeUp()));
    const abort = () => end(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });

    function release(): void {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
    }
    function end(reason: unknown): void {
      release();
      reject(reason); // first: what the work says because it was stopped tells nothing
      stop(reason);
    }
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
    if (signal?.aborted) abort();
  });
}

/** Resolves after a pause. @throws the caller's `signal.reason` as soon as that is aborted. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await within({ clock, ms, signal }, new Promise<void>(() => {})).catch((error) => {
    if (!(error instanceof TimeUp)) throw error;
  });
}
