/** Clock, time limits and abort signals: how long the client waits, and what ends the wait early. */
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";

/** Time as the client sees it. Replace it in tests to control timeouts, deadlines and delays. */
export interface Clock {
  /** The current date, in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Corrections of the date do not change it. */
  monotonicMs(): number;
  /** Calls `wake` once, after `ms` milliseconds. @returns a function that cancels the timer. */
  after(ms: number, wake: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => performance.now(),
  after(ms, wake) {
    let cancelRest: (() => void) | undefined;
    const startRest = () => {
      cancelRest = systemClock.after(ms - maxTimerMs, wake);
    };
    const timer = ms <= maxTimerMs ? setTimeout(wake, ms) : setTimeout(startRest, maxTimerMs);
    return () => {
      clearTimeout(timer);
      cancelRest?.();
    };
  },
};

/** A time limit has passed. The user gets a `timeout` or a `deadline` error instead. */
export class TimeLimitError extends Error {}

/** Aborts the work of one call. It takes much less time than an AbortController for each call. */
export class CallSignal {
  aborted = false;
  reason: unknown;
  #callbacks: (() => void)[] = [];

  abort(reason: unknown): void {
    this.aborted = true;
    this.reason = reason;
    for (const callback of this.#callbacks) callback();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** @returns a function that removes the callback. */
  onAbort(callback: () => void): () => void {
    this.#callbacks.push(callback);
    return () => {
      this.#callbacks = this.#callbacks.filter((other) => other !== callback);
    };
  }
}

// Runtimes warn of a leak when a signal has more than ten listeners, so all calls with one signal share a listener.
const sharedListeners = new WeakMap<AbortSignal, { callbacks: Set<() => void>; listener: () => void }>();

function onAbort(signal: AbortSignal | CallSignal, callback: () => void): () => void {
  if (signal instanceof CallSignal) return signal.onAbort(callback);
  const { callbacks, listener } = sharedListeners.get(signal) ?? addSharedListener(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    sharedListeners.delete(signal);
    signal.removeEventListener("abort", listener);
  };
}

function addSharedListener(signal: AbortSignal) {
  const callbacks = new Set<() => void>();
  const listener = () => {
    for (const callback of [...callbacks]) callback();
  };
  const shared = { callbacks, listener };
  sharedListeners.set(signal, shared);
  signal.addEventListener("abort", listener, { once: true });
  return shared;
}

export interface Limits {
  clock: Clock;
  /** The time limit on the monotonic clock. It is read again when the timer fires, because it can move to a later time. */
  endsAtMs: () => number;
  signal: AbortSignal | CallSignal | undefined;
}

/**
 * Waits for work until a time limit or an abort, even if the work ignores both. Removes its timer and its listener.
 * @param onEnd called when the wait ends early, to stop the work. When it returns a promise, the wait has the result of that promise.
 * @throws {TimeLimitError} at the limit; the signal's `reason`; and what the work throws.
 */
export function waitWithin<Result>(
  { clock, endsAtMs, signal }: Limits,
  work: Promise<Result>,
  onEnd: (reason: unknown) => Promise<Result> | undefined = () => undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const end = (reason: unknown) => {
      cleanUp();
      const replacement = onEnd(reason); // an error of the stopped work is ignored
      if (replacement === undefined) reject(reason);
      else resolve(replacement);
    };
    const startTimer = (atMs: number): (() => void) | undefined => {
      if (atMs === Number.POSITIVE_INFINITY) return undefined;
      return clock.after(atMs - clock.monotonicMs(), () => {
        const laterMs = endsAtMs();
        if (laterMs > atMs) cancelTimer = startTimer(laterMs);
        else end(new TimeLimitError());
      });
    };
    let cancelTimer = startTimer(endsAtMs());
    const removeListener = signal && onAbort(signal, () => end(signal.reason));
    const cleanUp = () => {
      cancelTimer?.();
      removeListener?.();
    };
    work.then(
      (result) => {
        cleanUp();
        resolve(result);
      },
      (error) => {
        cleanUp();
        reject(error);
      },
    );
    if (signal?.aborted) end(signal.reason);
  });
}

/** Resolves after `ms` milliseconds, or at the deadline of the call. @throws the signal's `reason` when a caller aborts. */
export async function sleep(clock: Clock, ms: number, signal: CallSignal): Promise<void> {
  const endsAtMs = clock.monotonicMs() + ms;
  const forever = new Promise<void>(() => {});
  await waitWithin({ clock, endsAtMs: () => endsAtMs, signal }, forever).catch((error) => {
    if (!(error instanceof TimeLimitError)) throw error;
  });
}
