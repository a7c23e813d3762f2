/** Keeps what an inbox tells, and waits for what it will tell. */
import type { InboxOutcome } from "../src/index.ts";

export function outcomes() {
  const told: InboxOutcome[] = [];
  const waiting = new Set<() => void>();
  return {
    told,
    onOutcome(outcome: InboxOutcome): void {
      told.push(outcome);
      for (const look of [...waiting]) look();
    },
    of: <Name extends InboxOutcome["outcome"]>(name: Name) =>
      told.filter((outcome): outcome is Extract<InboxOutcome, { outcome: Name }> => outcome.outcome === name),
    /** Resolves when that many outcomes of this name were told. */
    until(name: InboxOutcome["outcome"], count = 1): Promise<void> {
      return new Promise((resolve) => {
        const look = () => {
          if (told.filter(({ outcome }) => outcome === name).length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    },
  };
}
