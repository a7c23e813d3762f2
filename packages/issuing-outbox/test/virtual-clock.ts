/** A clock of which only waiting takes time: what runs without a timer, such as a commit or a response of the mock service, takes none. */

interface Timer {
  atMs: number;
  wake: () => void;
}

/** So many turns of the event loop in which nobody reads the clock mean that everything waits for a timer. */
const quietTurns = 40;

export function createVirtualClock(startMs = Date.parse("2026-03-01T12:00:00.000Z")) {
  let passedMs = 0;
  let correctionMs = 0;
  let reads = 0;
  const timers = new Set<Timer>();
  const read = (ms: number) => {
    reads += 1;
    return ms;
  };
  return {
    now: () => read(startMs + passedMs + correctionMs),
    monotonicMs: () => read(passedMs),
    after(ms: number, wake: () => void) {
      const timer = { atMs: passedMs + ms, wake };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    /** Resolves with the result after this much time. */
    wait<const Result = "ok">(ms: number, result = "ok" as Result): Promise<Result> {
      return new Promise((resolve) => void this.after(ms, () => resolve(result)));
    },
    /** Corrects the date. Durations do not change. */
    correct(ms: number) {
      correctionMs += ms;
    },
    /** Lets time pass from timer to timer until the work has ended. */
    async run<Result>(work: Promise<Result>): Promise<Result> {
      let hasEnded = false;
      const end = () => {
        hasEnded = true;
      };
      work.then(end, end);
      for (;;) {
        for (let turn = 0, before = reads; turn < quietTurns && !hasEnded; turn++) {
          await new Promise((resolve) => setImmediate(resolve));
          if (reads !== before) turn = 0;
          before = reads;
        }
        if (hasEnded) return work;
        const [next] = [...timers].sort((one, other) => one.atMs - other.atMs);
        if (next === undefined) throw new Error("The work has not ended, and nothing waits for a timer.");
        timers.delete(next);
        passedMs = Math.max(passedMs, next.atMs);
        next.wake();
      }
    },
    /** Lets this much time pass. */
    pass(ms: number): Promise<void> {
      return this.run(this.wait(ms));
    },
  };
}

export type VirtualClock = ReturnType<typeof createVirtualClock>;
