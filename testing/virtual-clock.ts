/**
 * A clock of which only waiting takes time: what runs without a timer, such as a commit or a
 * response of the mock service, takes none.
 */
import type { Clock } from "@loyalty-cards/internal/timers";

export interface VirtualClock extends Clock {
  /** Lets time pass and calls every timer that is due. */
  advance(ms: number): void;
  /** Lets time pass without calling timers, as when the event loop is blocked. */
  block(ms: number): void;
  /** Corrects the date. Durations do not change. */
  correct(ms: number): void;
  /** Resolves with the result after this much time. */
  wait<const Result = "ok">(ms: number, result?: Result): Promise<Result>;
  /**
   * Lets time pass from timer to timer until the work has ended.
   * @throws when no timer is left.
   */
  run<Result>(work: Promise<Result>): Promise<Result>;
  /** Lets this much time pass, from timer to timer. */
  pass(ms: number): Promise<unknown>;
  /** The number of timers that were not called or cancelled. */
  readonly pendingTimers: number;
}

interface Timer {
  atMs: number;
  wake: () => void;
}

/**
 * So many turns of the event loop without a read of the clock mean that everything waits for a
 * timer.
 */
const quietTurns = 10;

/** @param getDelayMs how late `run` calls the next timer. */
export function createVirtualClock(getDelayMs: () => number = () => 0): VirtualClock {
  const startMs = Date.parse("2026-03-01T12:00:00.000Z");
  let passedMs = 0;
  let correctionMs = 0;
  let reads = 0;
  const timers = new Set<Timer>();
  const read = (ms: number) => {
    reads += 1;
    return ms;
  };
  const clock: VirtualClock = {
    now: () => read(startMs + passedMs + correctionMs),
    monotonicMs: () => read(passedMs),
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
    wait: (ms, result = "ok" as never) =>
      new Promise((resolve) => void clock.after(ms, () => resolve(result))),
    async run(work) {
      let hasEnded = false;
      const end = () => {
        hasEnded = true;
      };
      work.then(end, end);
      for (;;) {
        let quiet = 0;
        while (quiet < quietTurns && !hasEnded) {
          const before = reads;
          await new Promise((resolve) => setImmediate(resolve));
          quiet = reads === before ? quiet + 1 : 0;
        }
        if (hasEnded) return work;
        const [next] = [...timers].sort((one, other) => one.atMs - other.atMs);
        if (next === undefined)
          throw new Error("The work has not ended, and nothing waits for a timer.");
        timers.delete(next);
        passedMs = Math.max(passedMs, next.atMs) + getDelayMs();
        next.wake();
      }
    },
    pass: (ms) => clock.run(clock.wait(ms)),
    get pendingTimers() {
      return timers.size;
    },
  };
  return clock;
}
