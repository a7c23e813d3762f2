/** The service's time: the machine's, or one that stands still until a test moves it. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back when that moment has come; absent when time only moves by hand. @returns how to cancel. */
  wakeAt?(atMs: number, wake: () => void): () => void;
}

export interface ManualClock extends Clock {
  wakeAt?: never;
  /** Moves time forward. @throws {RangeError} when asked to go back. */
  moveTo(atMs: number): void;
}

const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. Its timers do not keep a process alive. */
export function systemClock(): Clock {
  return {
    now: Date.now,
    wakeAt(atMs, wake) {
      const timer = setTimeout(wake, Math.min(Math.max(0, atMs - Date.now()), longestTimerMs));
      (timer as { unref?: () => void }).unref?.();
      return () => clearTimeout(timer);
    },
  };
}

/** A clock that stands at `startAt` (the present when absent) until `service.clock` moves it. */
export function manualClock(startAt: Date | number | string = Date.now()): ManualClock {
  let nowMs = new Date(startAt).getTime();
  if (Number.isNaN(nowMs)) throw new RangeError(`manualClock cannot start at "${startAt}": that is no date.`);
  return {
    now: () => nowMs,
    moveTo(atMs) {
      if (!(atMs >= nowMs)) throw new RangeError("Time does not go back; make a new service instead.");
      nowMs = atMs;
    },
  };
}

export function isManual(clock: Clock): clock is ManualClock {
  return "moveTo" in clock;
}
