/** Time as the client needs it: what moment it is, and being woken later. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once, so many milliseconds from now. @returns how to cancel. */
  after(ms: number, wake: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, wake) {
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  },
};

/** Thrown by {@link within} when time is up. */
export class TimeUp extends Error {}

/**
 * Runs work that has to end in time, and ends waiting for it at once when it does not or when the caller aborts: not
 * every piece of work listens to its signal. Leaves no timer and no listener behind.
 * @throws {TimeUp}, or the caller's `signal.reason`, or what the work throws.
 */
export async function within<Result>(
  { clock, ms, signal }: { clock: Clock; ms: number; signal: AbortSignal | undefined },
  work: (stop: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  let release = () => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    const end = (reason: unknown) => {
      reject(reason);
      stop.abort(reason);
    };
    const abort = () => end(signal?.reason);
    const cancel = clock.after(ms, () => end(new TimeUp()));
    signal?.addEventListener("abort", abort, { once: true });
    release = () => {
      cancel();
      signal?.removeEventListener("abort", abort);
    };
  });
  try {
    return await Promise.race([work(stop.signal), stopped]);
  } catch (error) {
    // What the work throws because it was stopped tells nothing; why it was stopped does.
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    release();
  }
}

/** Resolves after a pause. @throws the caller's `signal.reason` as soon as that is aborted. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await within({ clock, ms, signal }, () => new Promise<never>(() => {}));
  } catch (error) {
    if (!(error instanceof TimeUp)) throw error;
  }
}
