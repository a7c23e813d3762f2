/** Notifies the open pages of a member of a change. Only pages of this process are notified. */
import { oncePerProcess } from "./loyalty";

interface Listener {
  changed(): void;
  /** Closes all streams when the server stops, because it waits for open connections. */
  over(): void;
}

const listeners = () =>
  oncePerProcess("changes", () => {
    const all = new Map<string, Set<Listener>>();
    for (const signal of ["SIGTERM", "SIGINT"]) {
      process.once(signal, () => {
        for (const own of all.values()) for (const listener of own) listener.over();
      });
    }
    return all;
  });

export function changed(memberId: string): void {
  for (const listener of listeners().get(memberId) ?? []) listener.changed();
}

/** @returns a function that unsubscribes. */
export function listen(memberId: string, listener: Listener): () => void {
  const all = listeners();
  const own = all.get(memberId) ?? new Set();
  all.set(memberId, own.add(listener));
  return () => {
    own.delete(listener);
    if (own.size === 0 && all.get(memberId) === own) all.delete(memberId);
  };
}
