/** Time for the properties: it passes only when nobody has anything else to do, and then to the next moment that somebody waits for. */
import type { Clock } from "../src/index.ts";

export interface SimulatedTime extends Clock {
  /** Time passes without anybody being woken, as when the event loop is blocked. */
  block(ms: number): void;
  /** The date is set; how long things take is not touched. */
  correct(ms: number): void;
  /** Lets time pass until the work has ended. @throws when it waits for nothing that could end it. */
  during<Result>(work: Promise<Result>): Promise<Result>;
  /** How many are waiting: 0 when nothing was left behind. */
  readonly waiting: number;
}

interface Ticket {
  atMs: number;
  wake: () => void;
}

/** @param lateMs by how much the next wake-up is late. */
export function simulatedTime(lateMs: () => number = () => 0): SimulatedTime {
  const startMs = Date.parse("2026-03-01T12:00:00.000Z");
  let passedMs = 0;
  let correctionMs = 0;
  const waiting = new Set<Ticket>();

  function wakeNext(): void {
    let next: Ticket | undefined;
    for (const ticket of waiting) if (next === undefined || ticket.atMs < next.atMs) next = ticket;
    if (next === undefined) throw new Error("The work has not ended, and waits for nothing.");
    waiting.delete(next);
    passedMs = Math.max(passedMs, next.atMs) + lateMs();
    next.wake();
  }

  return {
    now: () => startMs + passedMs + correctionMs,
    monotonicMs: () => passedMs,
    after(ms, wake) {
      const ticket = { atMs: passedMs + ms, wake };
      waiting.add(ticket);
      return () => void waiting.delete(ticket);
    },
    block(ms) {
      passedMs += ms;
    },
    correct(ms) {
      correctionMs += ms;
    },
    async during(work) {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      work.then(end, end);
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve)); // whatever can go on without time, has
        if (isOver) return work;
        wakeNext();
      }
    },
    get waiting() {
      return waiting.size;
    },
  };
}
