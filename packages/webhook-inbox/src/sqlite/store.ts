/** The statements of the inbox: how events are stored, leased, completed, replayed and deleted. */
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import type { EventRef, InboxEntry, ListOptions } from "../reports.ts";

/** An event that a worker has leased. `lease` is unique to this attempt. */
export interface LeasedEvent {
  id: string;
  lease: string;
  type: string;
  body: string;
  receivedAtMs: number;
  attempt: number;
}

interface Row {
  id: string;
  type: string;
  body: string;
  state: InboxEntry["state"];
  received_at: number;
  attempts: number;
  last_failure: string | null;
  place: number;
}

/** An event whose process ended during the last attempt. */
export type ExhaustedEvent = EventRef & { attempt: number };

/**
 * A leased event is due again when its lease ends, so an event of a process that died needs no detection.
 * Each statement names its index: without statistics SQLite chooses one that makes it sort every waiting event.
 */
export function createStore(database: SqliteDatabase, source: string) {
  const sql = (text: string) => database.prepare(text);
  const insert = sql(
    `INSERT INTO webhook_inbox_events (source, id, type, body, received_at, due_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (source, id) DO UPDATE SET
       type = excluded.type, body = excluded.body, received_at = excluded.received_at, due_at = excluded.due_at,
       state = 'waiting', attempts = 0, last_failure = NULL, ended_at = NULL
     WHERE state = 'dead'`,
  );
  const leaseDue = sql(
    `UPDATE webhook_inbox_events SET due_at = ?, lease = ?, attempts = attempts + 1
     WHERE rowid IN (
       SELECT rowid FROM webhook_inbox_events INDEXED BY webhook_inbox_due
       WHERE state = 'waiting' AND source = ? AND due_at <= ? ORDER BY due_at, rowid LIMIT ?
     )
     RETURNING rowid AS place, id, type, body, received_at, attempts`,
  );
  const ofLease = "WHERE source = ? AND id = ? AND lease = ? AND state = 'waiting'";
  const exhaust = sql(
    `UPDATE webhook_inbox_events SET state = 'dead', ended_at = ?, attempts = attempts - 1, lease = NULL ${ofLease}`,
  );
  const renew = sql(`UPDATE webhook_inbox_events SET due_at = ? ${ofLease}`);
  const done = sql(`UPDATE webhook_inbox_events SET state = 'done', ended_at = ?, lease = NULL ${ofLease}`);
  const retry = sql(`UPDATE webhook_inbox_events SET due_at = ?, last_failure = ?, lease = NULL ${ofLease}`);
  const dead = sql(
    `UPDATE webhook_inbox_events SET state = 'dead', ended_at = ?, last_failure = ?, lease = NULL ${ofLease}`,
  );
  const release = sql(
    `UPDATE webhook_inbox_events SET due_at = ?, attempts = attempts - 1, lease = NULL ${ofLease}`,
  );
  const replay = sql(
    `UPDATE webhook_inbox_events SET state = 'waiting', due_at = ?, attempts = 0, ended_at = NULL
     WHERE source = ? AND id = ? AND state = 'dead'`,
  );
  const deleteDone = sql(
    `DELETE FROM webhook_inbox_events
     WHERE rowid IN (
       SELECT rowid FROM webhook_inbox_events INDEXED BY webhook_inbox_done
       WHERE state = 'done' AND source = ? AND ended_at < ? ORDER BY ended_at LIMIT ?
     )`,
  );
  const nextDue = sql(
    `SELECT min(due_at) AS due_at FROM webhook_inbox_events INDEXED BY webhook_inbox_due
     WHERE state = 'waiting' AND source = ?`,
  );
  const counts = sql(
    `SELECT waiting, dead, (
       SELECT min(received_at) FROM webhook_inbox_events INDEXED BY webhook_inbox_received
       WHERE source = counts.source AND state = 'waiting'
     ) AS oldest
     FROM webhook_inbox_counts AS counts WHERE source = ?`,
  );
  const list = sql(
    `SELECT rowid AS place, id, type, state, received_at, attempts, last_failure
     FROM webhook_inbox_events INDEXED BY webhook_inbox_received
     WHERE source = ? AND state = ? ORDER BY received_at, rowid LIMIT ?`,
  );

  return {
    /** Stores an event; a dead letter is stored anew. @returns false when the event is waiting or done. */
    insert: ({ id, type }: EventRef, body: string, receivedAtMs: number, dueAtMs: number) =>
      isChanged(insert.run(source, id, type, body, receivedAtMs, dueAtMs)),
    /** Leases events that are due, oldest first, and makes dead letters of events that have no attempt left. */
    lease(lease: string, untilMs: number, nowMs: number, limit: number, maxAttempts: number) {
      const rows = leaseDue.all(untilMs, lease, source, nowMs, limit) as Row[];
      rows.sort((one, other) => one.place - other.place); // SQLite returns them in any order
      const leased: LeasedEvent[] = [];
      const exhausted: ExhaustedEvent[] = [];
      for (const { id, type, body, received_at: receivedAtMs, attempts: attempt } of rows) {
        if (attempt <= maxAttempts) {
          leased.push({ id, type, body, receivedAtMs, attempt, lease });
        } else {
          exhaust.run(nowMs, source, id, lease); // the process ended before it could record the failure of the last attempt
          exhausted.push({ id, type, attempt: attempt - 1 });
        }
      }
      return { leased, exhausted };
    },
    /** The functions that take a `LeasedEvent` return false when its lease has expired and another worker has the event. */
    renew: ({ id, lease }: LeasedEvent, untilMs: number) => isChanged(renew.run(untilMs, source, id, lease)),
    done: ({ id, lease }: LeasedEvent, nowMs: number) => isChanged(done.run(nowMs, source, id, lease)),
    retry: ({ id, lease }: LeasedEvent, dueAtMs: number, failure: string) =>
      isChanged(retry.run(dueAtMs, failure, source, id, lease)),
    dead: ({ id, lease }: LeasedEvent, nowMs: number, failure: string) =>
      isChanged(dead.run(nowMs, failure, source, id, lease)),
    release: ({ id, lease }: LeasedEvent, nowMs: number) => isChanged(release.run(nowMs, source, id, lease)),
    replay: (id: string, nowMs: number) => isChanged(replay.run(nowMs, source, id)),
    /** @returns how many events were deleted; there may be more. */
    deleteDone: (endedBeforeMs: number, limit: number) =>
      Number(deleteDone.run(source, endedBeforeMs, limit).changes),
    nextDueAtMs: () => (nextDue.get(source) as { due_at: number | null }).due_at ?? undefined,
    counts: () => counts.get(source) as { waiting: number; dead: number; oldest: number | null },
    list({ state, limit = 100 }: ListOptions): InboxEntry[] {
      const states = state === undefined ? ["waiting", "done", "dead"] : [state];
      const rows = states.flatMap((each) => list.all(source, each, limit) as Row[]);
      rows.sort((one, other) => one.received_at - other.received_at || one.place - other.place);
      return rows.slice(0, limit).map((row) => ({
        id: row.id,
        type: row.type,
        state: row.state,
        receivedAt: new Date(row.received_at),
        attempts: row.attempts,
        ...(row.last_failure !== null && { lastFailure: row.last_failure }),
      }));
    },
  };
}

export type Store = ReturnType<typeof createStore>;

const isChanged = ({ changes }: { changes: number | bigint }) => Number(changes) > 0;
