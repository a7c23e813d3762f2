/** Tells whoever listens that something changed: the console, those who wait, the file that keeps it all. */

export const changeTypes = [
  "apiKey",
  "template",
  "customer",
  "card",
  "operation",
  "endpoint",
  "delivery",
  "event",
  "clock",
  "fault",
  "refusal",
  "warning",
] as const;

export type ChangeType = (typeof changeTypes)[number];

/** What changed, by its identifier; `reset` when everything may have. */
export type Change =
  | { type: ChangeType; id: string; action: "created" | "changed" | "removed" }
  | { type: "reset" };

export type Listener = (change: Change) => void;

export interface ChangeFeed {
  tell: Listener;
  /** @returns how to stop listening. */
  listen(listener: Listener): () => void;
}

export function changeFeed(): ChangeFeed {
  const listeners = new Set<Listener>();
  return {
    tell(change) {
      for (const listener of listeners) listener(change);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
