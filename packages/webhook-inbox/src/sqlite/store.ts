/** The statements of the inbox: what is stored, leased, ended, replayed and forgotten. Each one is a whole act. */

import type { InboxEntry, ListOptions } from "../health.ts";
import type { EventName } from "../outcome.ts";
import type { SqliteDatabase } from "./database.ts";

/** An event in the hands of a worker. No other claim has this lease. */
export interface Claim {
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

/** An event whose last attempt ended with the process. */
export type Exhausted = EventName & { attempt: number };

/**
 * A claimed event comes due again when its lease ends: so nobody has to notice that a process died.
 * Each statement names its index, because without statistics SQLite takes one that makes it sort all that waits.
 */
export function createStore(database: SqliteDatabase) {
  const sql = (text: string) => database.prepare(text);
  const insert = sql(
    `INSERT INTO webhook_inbox_events (id, type, body, received_at, due_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET
       type = excluded.type, body = excluded.body, received_at = excluded.received_at, due_at = excluded.due_at,
       state = 'waiting', attempts = 0, last_failure = NULL, ended_at = NULL
     WHERE state = 'dead'`,
  );
  const claim = sql(
    `UPDATE webhook_inbox_events SET due_at = ?, lease = ?, attempts = attempts + 1
     WHERE rowid IN (
       SELECT rowid FROM webhook_inbox_events INDEXED BY webhook_inbox_due
       WHERE state = 'waiting' AND due_at <= ? ORDER BY due_at, rowid LIMIT ?
     )
     RETURNING rowid AS place, id, type, body, received_at, attempts`,
  );
  const mine = "WHERE id = ? AND lease = ? AND state = 'waiting'";
  const exhaust = sql(
    `UPDATE webhook_inbox_events SET state = 'dead', ended_at = ?, attempts = attempts - 1, lease = NULL ${mine}`,
  );
  const renew = sql(`UPDATE webhook_inbox_events SET due_at = ? ${mine}`);
  const done = sql(`UPDATE webhook_inbox_events SET state = 'done', ended_at = ?, lease = NULL ${mine}`);
  const retry = sql(`UPDATE webhook_inbox_events SET due_at = ?, last_failure = ?, lease = NULL ${mine}`);
  const dead = sql(
    `UPDATE webhook_inbox_events SET state = 'dead', ended_at = ?, last_failure = ?, lease = NULL ${mine}`,
  );
  const release = sql(
    `UPDATE webhook_inbox_events SET due_at = ?, attempts = attempts - 1, lease = NULL ${mine}`,
  );
  const replay = sql(
    `UPDATE webhook_inbox_events SET state = 'waiting', due_at = ?, attempts = 0, ended_at = NULL
     WHERE id = ? AND state = 'dead'`,
  );
  const forget = sql(
    `DELETE FROM webhook_inbox_events
     WHERE rowid IN (
       SELECT rowid FROM webhook_inbox_events INDEXED BY webhook_inbox_done
       WHERE state = 'done' AND ended_at < ? ORDER BY ended_at LIMIT ?
     )`,
  );
  const nextDue = sql(
    "SELECT min(due_at) AS due_at FROM webhook_inbox_events INDEXED BY webhook_inbox_due WHERE state = 'waiting'",
  );
  const counts = sql(
    `SELECT waiting, dead,
       (SELECT min(received_at) FROM webhook_inbox_events INDEXED BY webhook_inbox_received WHERE state = 'waiting') AS oldest
     FROM webhook_inbox_state WHERE id = 1`,
  );
  const list = sql(
    `SELECT rowid AS place, id, type, state, received_at, attempts, last_failure
     FROM webhook_inbox_events INDEXED BY webhook_inbox_received
     WHERE state = ? ORDER BY received_at, rowid LIMIT ?`,
  );

  return {
    /** Stores an event, also one that is a dead letter. @returns false when it waits already, or is done. */
    insert: (event: EventName, body: string, receivedAtMs: number, dueAtMs: number): boolean =>
      changed(insert.run(event.id, event.type, body, receivedAtMs, dueAtMs)),
    /** Takes what is due, oldest first, and makes dead letters of events that have no attempt left. */
    claim(lease: string, untilMs: number, nowMs: number, limit: number, maxAttempts: number) {
      const rows = claim.all(untilMs, lease, nowMs, limit) as Row[];
      rows.sort((one, other) => one.place - other.place); // SQLite returns them in any order
      const claims: Claim[] = [];
      const exhausted: Exhausted[] = [];
      for (const { id, type, body, received_at: receivedAtMs, attempts: attempt } of rows) {
        if (attempt <= maxAttempts) {
          claims.push({ id, type, body, receivedAtMs, attempt, lease });
        } else {
          exhaust.run(nowMs, id, lease); // nobody was left to say that the last attempt had failed
          exhausted.push({ id, type, attempt: attempt - 1 });
        }
      }
      return { claims, exhausted };
    },
    /** These five return false when the lease was lost. */
    renew: ({ id, lease }: Claim, untilMs: number) => changed(renew.run(untilMs, id, lease)),
    done: ({ id, lease }: Claim, nowMs: number) => changed(done.run(nowMs, id, lease)),
    retry: ({ id, lease }: Claim, dueAtMs: number, failure: string) =>
      changed(retry.run(dueAtMs, failure, id, lease)),
    dead: ({ id, lease }: Claim, nowMs: number, failure: string) =>
      changed(dead.run(nowMs, failure, id, lease)),
    release: ({ id, lease }: Claim, nowMs: number) => changed(release.run(nowMs, id, lease)),
    replay: (id: string, nowMs: number) => changed(replay.run(nowMs, id)),
    /** @returns how many were forgotten; there may be more. */
    forget: (endedBeforeMs: number, limit: number) => Number(forget.run(endedBeforeMs, limit).changes),
    nextDueAtMs: () => (nextDue.get() as { due_at: number | null }).due_at ?? undefined,
    counts: () => counts.get() as { waiting: number; dead: number; oldest: number | null },
    list({ state, limit = 100 }: ListOptions): InboxEntry[] {
      const states = state === undefined ? ["waiting", "done", "dead"] : [state];
      const rows = states.flatMap((each) => list.all(each, limit) as Row[]);
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

const changed = ({ changes }: { changes: number | bigint }) => Number(changes) > 0;
