/** Tells when an answer is due: by one timer for all deliveries where timers outlive requests, by one for each elsewhere. */

/** Calls back when the time since `beganMs` (of `performance.now()`) is up. @returns how to say that it no longer matters. */
export type TimeLimit = (beganMs: number, onTimeUp: () => void) => () => void;

interface Runtime {
  process?: { release?: { name?: string } };
  navigator?: { userAgent?: string };
  EdgeRuntime?: unknown;
}

/** On Workers and edge functions a timer ends with the request that started it, and what others wait for would end with it. */
function isNode({ process, navigator, EdgeRuntime }: Runtime): boolean {
  const userAgent = navigator?.userAgent ?? "Node.js/20"; // which has no navigator
  return process?.release?.name === "node" && userAgent.startsWith("Node.js/") && EdgeRuntime === undefined;
}

/** @param ms the same for all. */
export function timeLimit(ms: number, runtime: Runtime = globalThis as Runtime): TimeLimit {
  return isNode(runtime) ? sharedTimer(ms) : timerForEach(ms);
}

function timerForEach(ms: number): TimeLimit {
  return (_beganMs, onTimeUp) => {
    const timer = setTimeout(onTimeUp, ms);
    return () => clearTimeout(timer);
  };
}

/** A timer for each costs Node a tenth of a delivery. */
function sharedTimer(ms: number): TimeLimit {
  /** In the order in which they are due. */
  const waiting = new Set<{ dueAtMs: number; onTimeUp: () => void }>();
  let timer: NodeJS.Timeout | undefined;
  let wakesAtMs = 0;

  function wakeAfter(delayMs: number): void {
    wakesAtMs = performance.now() + delayMs;
    timer = setTimeout(tick, delayMs) as NodeJS.Timeout;
  }

  function tick(): void {
    timer = undefined;
    for (const work of waiting) {
      const remainingMs = work.dueAtMs - performance.now();
      if (remainingMs > 0) {
        wakeAfter(remainingMs);
        return;
      }
      waiting.delete(work);
      work.onTimeUp();
    }
  }

  return (beganMs, onTimeUp) => {
    const work = { dueAtMs: beganMs + ms, onTimeUp };
    // A timer that is long overdue was lost, as one of a test that took the timers' place for a while.
    if (timer === undefined || beganMs > wakesAtMs + ms) wakeAfter(ms);
    else if (waiting.size === 0) timer.ref();
    waiting.add(work);
    return () => {
      waiting.delete(work);
      // Left to run, for the next delivery is near; but nobody has to wait for it.
      if (waiting.size === 0) timer?.unref();
    };
  };
}
