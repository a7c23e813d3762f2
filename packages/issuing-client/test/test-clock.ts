/** The clock of the tests: time passes only when a test lets it pass. */
import type { Clock } from "@loyalty-cards/internal/issuing-steps";

export interface TestClock extends Clock {
  /** Lets time pass and calls every timer that is due. */
  advance(ms: number): void;
  /** Lets time pass without calling timers, as when the event loop is blocked. */
  block(ms: number): void;
  /** Corrects the date. Durations do not change. */
  correct(ms: number): void;
  /** Lets time pass from timer to timer until the work has ended. @throws when no timer is left. */
  runUntilEnd<Result>(work: Promise<Result>): Promise<Result>;
  /** The number of timers that were not called or cancelled. */
  readonly pendingTimers: number;
}

interface Timer {
  atMs: number;
  wake: () => void;
}

/** @param getDelayMs how late `runUntilEnd` calls the next timer. */
export function createTestClock(getDelayMs: () => number = () => 0): TestClock {
  const startMs = Date.parse("2026-03-01T12:00:00.000Z");
  let passedMs = 0;
  let correctionMs = 0;
  const timers = new Set<Timer>();

  return {
    now: () => startMs + passedMs + correctionMs,
    monotonicMs: () => passedMs,
    after(ms, wake) {
      const timer = { atMs: passedMs + ms, wake };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      passedMs += ms;
      for (const timer of timers) if (timer.atMs <= passedMs && timers.delete(timer)) timer.wake();
    },
    block(ms) {
      passedMs += ms;
    },
    correct(ms) {
      correctionMs += ms;
    },
    async runUntilEnd(work) {
      let hasEnded = false;
      const end = () => {
        hasEnded = true;
      };
      work.then(end, end);
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve)); // lets everything run that needs no timer
        if (hasEnded) return work;
        const [next] = [...timers].sort((one, other) => one.atMs - other.atMs);
        if (next === undefined) throw new Error("The work has not ended, and no timer is left.");
        timers.delete(next);
        passedMs = Math.max(passedMs, next.atMs) + getDelayMs();
        next.wake();
      }
    },
    get pendingTimers() {
      return timers.size;
    },
  };
}
