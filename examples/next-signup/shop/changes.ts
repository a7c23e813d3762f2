/** Tells the open pages of a member that something changed. It reaches the pages of this process only. */
import { oncePerProcess } from "./once-per-process";

type Listener = () => void;

const listeners = () => oncePerProcess("changes", () => new Map<string, Set<Listener>>());

export function changed(memberId: string): void {
  for (const listener of listeners().get(memberId) ?? []) listener();
}

/** @returns what ends it. */
export function onChange(memberId: string, listener: Listener): () => void {
  const all = listeners();
  const own = all.get(memberId) ?? new Set();
  all.set(memberId, own.add(listener));
  return () => {
    own.delete(listener);
    if (own.size === 0 && all.get(memberId) === own) all.delete(memberId);
  };
}
