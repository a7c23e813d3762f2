/** Creates events in the format of the service, stores them as a receiver does, and records the outcomes of an inbox. */

import type { BalanceChanged, Inbox, WebhookEvent } from "@loyalty-cards/webhook-verify";
import type { InboxOutcome } from "../src/index.ts";

export const balanceChanged = (
  id: string,
  balance = 120,
  createdAt = "2026-01-01T00:00:00.000Z",
  passId = "card_1",
) =>
  ({
    id,
    type: "balance.changed",
    createdAt,
    data: {
      passId,
      customerId: "cus_1",
      balance,
      change: balance,
      operation: { id: "op_1", type: "purchase" },
    },
  }) satisfies BalanceChanged;

export const toBody = (event: WebhookEvent): Uint8Array => new TextEncoder().encode(JSON.stringify(event));

export function put(inbox: Inbox, event: WebhookEvent, signal = new AbortController().signal) {
  return inbox.put(event, { body: toBody(event), receivedAt: new Date() }, { signal });
}

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
