/** A clock for the tests that moves only when told, waking whoever is due. */
import type { Clock } from "../src/index.ts";

export interface StandingClock extends Clock {
  advance(ms: number): void;
  /** Time passes, but nobody is woken yet. */
  jump(ms: number): void;
  /** The date is set; how long things take is not touched. */
  correct(ms: number): void;
  /** How many are waiting: 0 when nothing was left behind. */
  readonly waiting: number;
}

export function standingClock(startMs = Date.parse("2026-03-01T12:00:00.000Z")): StandingClock {
  let nowMs = startMs;
  let correctionMs = 0;
  const waiting = new Map<object, { atMs: number; wake: () => void }>();
  return {
    now: () => nowMs + correctionMs,
    monotonicMs: () => nowMs,
    after(ms, wake) {
      const ticket = {};
      waiting.set(ticket, { atMs: nowMs + ms, wake });
      return () => void waiting.delete(ticket);
    },
    advance(ms) {
      nowMs += ms;
      for (const [ticket, { atMs, wake }] of waiting) {
        if (atMs > nowMs) continue;
        waiting.delete(ticket);
        wake();
      }
    },
    jump(ms) {
      nowMs += ms;
    },
    correct(ms) {
      correctionMs += ms;
    },
    get waiting() {
      return waiting.size;
    },
  };
}
