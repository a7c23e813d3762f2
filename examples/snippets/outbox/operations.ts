/** Finds what a person should know about an outbox. */
// #region operations
import type { OutboxCounts } from "@loyalty-cards/issuing-outbox";

const hourMs = 3_600_000;

/**
 * Call it every minute with `await outbox.count()`, and alert when it returns
 * something.
 */
export function findAlarms(counts: OutboxCounts, nowMs = Date.now()): string[] {
  const { oldestWaitingAt, nextExpiryAt, undelivered, unknown, paused } = counts;
  const alarms = paused.map(({ reason, template = "" }) =>
    `The outbox is paused: ${reason} ${template}`.trim(),
  );
  if (oldestWaitingAt !== undefined && nowMs - oldestWaitingAt.getTime() > hourMs)
    alarms.push("A card has been waiting for more than an hour.");
  if (nextExpiryAt !== undefined && nextExpiryAt.getTime() - nowMs < 6 * hourMs)
    alarms.push("Within six hours an entry becomes unknown.");
  if (undelivered > 0) alarms.push("onIssued or onRejected fails: see the log.");
  if (unknown > 0)
    alarms.push("Whether a card exists is unknown: look for it, and call resolve.");
  return alarms;
}
// #endregion
