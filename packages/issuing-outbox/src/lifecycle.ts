/** Until when an outbox leases entries, and what ends then. */

type Listeners = Set<() => void>;

export interface Lifecycle {
  /**
   * `halted`: an option of the client is wrong, so this process leases nothing, and others do.
   * `closing`: `close` was called, and methods reject.
   */
  readonly phase: "open" | "halted" | "closing";
  /** What a phase ends: workers, and the waits of `issue`. */
  readonly listeners: { readonly halted: Listeners; readonly closing: Listeners };
  /** Begins a phase. An outbox that is closing stays so. */
  enter(phase: "halted" | "closing"): void;
  /** Aborted at the end of the grace period of `close`: requests of `issue` are aborted. */
  readonly aborting: AbortSignal;
  abort(): void;
}

export function createLifecycle(): Lifecycle {
  const controller = new AbortController();
  // These are sets and not signals, because Node.js warns about a signal that has more than ten
  // listeners.
  const listeners = { halted: new Set<() => void>(), closing: new Set<() => void>() };
  const lifecycle = {
    phase: "open" as Lifecycle["phase"],
    listeners,
    enter(phase: "halted" | "closing"): void {
      if (lifecycle.phase === phase || lifecycle.phase === "closing") return;
      lifecycle.phase = phase;
      for (const end of [...listeners[phase]]) end();
    },
    aborting: controller.signal,
    abort: () => controller.abort(new Error("The outbox is closed.")),
  };
  return lifecycle;
}
