/** The statements of the inbox: what is stored, leased, ended, replayed and forgotten. Each one is a whole act. */

import type { InboxEntry, ListOptions } from "../health.ts";
import type { EventName } from "../outcome.ts";
import type { SqliteDatabase } from "./database.ts";

/** An event in the hands of a worker. Together with the lease, `attempt` tells this claim from every other. */
export interface Claim {
  id: string;
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
}

/** A claimed event comes due again when its lease ends: so nobody has to notice that a process died. */
export function createStore(database: SqliteDatabase) {
  const sql = (text: string) => database.prepare(text);
  const insert = sql(
    `INSERT INTO webhook_inbox_events (id, type, body, received_at, due_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  const claim = sql(
    `UPDATE webhook_inbox_events SET due_at = ?, lease = ?, attempts = attempts + 1
     WHERE id IN (SELECT id FROM webhook_inbox_events WHERE state = 'waiting' AND due_at <= ? ORDER BY due_at, rowid LIMIT ?)
     RETURNING rowid AS place, id, type, body, received_at, attempts`,
  );
  const bury = sql(
    `UPDATE webhook_inbox_events SET state = 'dead', ended_at = ?, lease = NULL
     WHERE id IN (SELECT id FROM webhook_inbox_events WHERE state = 'waiting' AND due_at <= ? AND attempts >= ? LIMIT ?)
     RETURNING id, type, attempts`,
  );
  const renew = sql("UPDATE webhook_inbox_events SET due_at = ? WHERE state = 'waiting' AND lease = ?");
  const mine = "WHERE id = ? AND lease = ? AND attempts = ? AND state = 'waiting'";
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
     WHERE id IN (SELECT id FROM webhook_inbox_events WHERE state = 'done' AND ended_at < ? LIMIT 500)`,
  );
  const nextDue = sql("SELECT min(due_at) AS due_at FROM webhook_inbox_events WHERE state = 'waiting'");
  const counts = sql(
    `SELECT (SELECT count(*) FROM webhook_inbox_events WHERE state = 'waiting') AS waiting,
            (SELECT count(*) FROM webhook_inbox_events WHERE state = 'dead') AS dead,
            (SELECT min(received_at) FROM webhook_inbox_events WHERE state = 'waiting') AS oldest`,
  );
  const list = sql(
    `SELECT id, type, state, received_at, attempts, last_failure FROM webhook_inbox_events
     WHERE state IN (?, ?, ?) ORDER BY received_at, rowid LIMIT ?`,
  );

  return {
    /** @returns false when the event is known. */
    insert: (event: EventName, body: string, receivedAtMs: number): boolean =>
      changed(insert.run(event.id, event.type, body, receivedAtMs, receivedAtMs)),
    claim(lease: string, untilMs: number, nowMs: number, most: number): Claim[] {
      const rows = claim.all(untilMs, lease, nowMs, most) as (Row & { place: number })[];
      rows.sort((one, other) => one.place - other.place); // SQLite returns them in any order
      return rows.map((row) => ({
        id: row.id,
        type: row.type,
        body: row.body,
        receivedAtMs: row.received_at,
        attempt: row.attempts,
      }));
    },
    /** Events whose last attempt ended with the process: nobody was left to say so. */
    bury(maxAttempts: number, nowMs: number): (EventName & { attempt: number })[] {
      const rows = bury.all(nowMs, nowMs, maxAttempts, 100) as Row[];
      return rows.map(({ id, type, attempts }) => ({ id, type, attempt: attempts }));
    },
    renew: (lease: string, untilMs: number) => renew.run(untilMs, lease),
    /** These four return false when the lease was lost. */
    done: ({ id, attempt }: Claim, lease: string, nowMs: number) =>
      changed(done.run(nowMs, id, lease, attempt)),
    retry: ({ id, attempt }: Claim, lease: string, dueAtMs: number, failure: string) =>
      changed(retry.run(dueAtMs, failure, id, lease, attempt)),
    dead: ({ id, attempt }: Claim, lease: string, nowMs: number, failure: string) =>
      changed(dead.run(nowMs, failure, id, lease, attempt)),
    release: ({ id, attempt }: Claim, lease: string, nowMs: number) =>
      changed(release.run(nowMs, id, lease, attempt)),
    replay: (id: string, nowMs: number) => changed(replay.run(nowMs, id)),
    /** @returns how many were forgotten; there may be more. */
    forget: (endedBeforeMs: number) => Number(forget.run(endedBeforeMs).changes),
    nextDueAtMs: () => (nextDue.get() as { due_at: number | null }).due_at ?? undefined,
    counts: () => counts.get() as { waiting: number; dead: number; oldest: number | null },
    list({ state, limit = 100 }: ListOptions): InboxEntry[] {
      const states = state === undefined ? ["waiting", "done", "dead"] : [state, state, state];
      return (list.all(...states, limit) as Row[]).map((row) => ({
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
