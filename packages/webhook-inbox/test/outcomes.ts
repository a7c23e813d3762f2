/** Records the outcomes of an inbox, and waits for further ones. */
import type { InboxOutcome } from "../src/index.ts";

export function recordOutcomes() {
  const recorded: InboxOutcome[] = [];
  const waiting = new Set<() => void>();
  return {
    recorded,
    onOutcome(outcome: InboxOutcome): void {
      recorded.push(outcome);
      for (const look of [...waiting]) look();
    },
    of: <Name extends InboxOutcome["outcome"]>(name: Name) =>
      recorded.filter(
        (outcome): outcome is Extract<InboxOutcome, { outcome: Name }> => outcome.outcome === name,
      ),
    /** Resolves when this number of outcomes with this name has been recorded. */
    until(name: InboxOutcome["outcome"], count = 1): Promise<void> {
      return new Promise((resolve) => {
        const look = () => {
          if (recorded.filter(({ outcome }) => outcome === name).length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    },
  };
}
