/**
 * What tests of inboxes share: inboxes in temporary files, on every SQLite engine of this runtime;
 * events in the format of the service; recorded outcomes.
 */
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { scratchFile } from "@loyalty-cards/testing/resources";
import type { BalanceChanged, Inbox, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { onTestFinished } from "vitest";
import {
  type InboxOutcome,
  openLibsql,
  type SqliteInbox,
  type SqliteInboxOptions,
  sqliteInbox,
} from "../src/index.ts";

const hasOwn = process.getBuiltinModule?.("node:sqlite") !== undefined;

export const engines: [name: string, open: OpenSqlite][] = [
  ["libsql", openLibsql],
  ...(hasOwn ? [["node:sqlite", openSqlite] satisfies [string, OpenSqlite]] : []),
];

/**
 * Opens an inbox that is closed at the end of the test. It logs only to the `log` that the test
 * passes.
 */
export function openInbox(options: Partial<SqliteInboxOptions> = {}): SqliteInbox {
  const inbox = sqliteInbox({ file: options.file ?? scratchFile(), log: () => {}, ...options });
  onTestFinished(() => inbox.close({ graceMs: 0 }));
  return inbox;
}

/**
 * An inbox that records its outcomes, and whose clock is ahead of the system's by as many
 * milliseconds as the test sets.
 */
export function openAhead(aheadMs: number, options: Partial<SqliteInboxOptions>) {
  const clock = {
    aheadMs,
    now: () => Date.now() + clock.aheadMs,
    monotonicMs: () => performance.now() + clock.aheadMs,
  };
  const recorded = recordOutcomes();
  const inbox = openInbox({ onOutcome: recorded.onOutcome, testing: { clock }, ...options });
  return { inbox, clock, recorded };
}

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

export const toBody = (event: WebhookEvent): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(event));

/** Stores an event as a receiver does. */
export function put(
  inbox: Inbox,
  event: WebhookEvent,
  { signal = new AbortController().signal, receivedAt = new Date(), body = toBody(event) } = {},
) {
  return inbox.put(event, { body, receivedAt }, { signal });
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
