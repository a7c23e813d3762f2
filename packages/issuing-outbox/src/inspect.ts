/** Reading the outbox: counts and lists. */
import { invalid, work } from "./add.ts";
import type { OutboxDatabase } from "./database.ts";
import type { OutboxCounts, OutboxState, Pause } from "./entry.ts";
import { keyLifetimeMs } from "./lease.ts";
import { readScopes, type Scope, toPause } from "./pause.ts";
import { type EntryRow, readEntryRow, selectEntries } from "./rows.ts";
import { type Operation, query, toNumber, toOptionalNumber } from "./statement.ts";

/** @param own pauses of this process. */
export function* countEntries(own: readonly Pause[]): Operation<OutboxCounts> {
  const counts = { waiting: 0, issued: 0, rejected: 0, unknown: 0 };
  for (const row of yield* query(
    "SELECT state, count(*) AS entries FROM issuing_outbox_entries GROUP BY state",
  ))
    counts[row["state"] as OutboxState] = toNumber(row["entries"]);
  const [undelivered] = yield* query(
    `SELECT count(*) AS entries FROM issuing_outbox_entries WHERE work = ${work.callback}`,
  );
  const [oldest] = yield* query(
    "SELECT added_at FROM issuing_outbox_entries WHERE state = 'waiting' ORDER BY id LIMIT 1",
  );
  const [first] = yield* query(
    `SELECT min(first_attempt_at) AS first_attempt_at FROM issuing_outbox_entries WHERE work = ${work.resend}`,
  );
  const firstAttemptAtMs = toOptionalNumber(first?.["first_attempt_at"]);
  const scopes = yield* readScopes();
  return {
    ...counts,
    undelivered: toNumber(undelivered?.["entries"]),
    ...(oldest !== undefined && { oldestWaitingAt: new Date(toNumber(oldest["added_at"])) }),
    ...(firstAttemptAtMs !== undefined && { nextExpiryAt: new Date(firstAttemptAtMs + keyLifetimeMs) }),
    paused: [...scopes.filter(({ reason }) => reason !== undefined).map(toPause), ...own],
  };
}

/** Returns when the next callback or request is due, or an entry is tried after a pause; undefined when nothing is, or a person must call `resume`. */
export function* getNextDue(): Operation<number | undefined> {
  const scopes = yield* readScopes();
  const all = scopes.find(({ template, reason }) => template === "" && reason !== undefined);
  if (all?.reason === "restored") return undefined;
  const times: number[] = [];
  for (const scope of scopes) {
    if (scope.template === "") continue;
    const pausedUntilMs = yield* getTryTime(all ?? scope);
    for (const each of Object.values(work)) {
      const [row] = yield* query(
        "SELECT min(due_at) AS due_at FROM issuing_outbox_entries WHERE work = $1::text::integer AND template = $2::text",
        each,
        scope.template,
      );
      const dueAtMs = toOptionalNumber(row?.["due_at"]);
      if (dueAtMs !== undefined) times.push(each === work.callback ? dueAtMs : (pausedUntilMs ?? dueAtMs));
    }
  }
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Returns when an entry is tried after a pause: when it is over and no other process is trying one. */
function* getTryTime({ untilMs, probe }: Scope): Operation<number | undefined> {
  if (untilMs === undefined || probe === undefined) return untilMs;
  const [tried] = yield* query(
    "SELECT due_at FROM issuing_outbox_entries WHERE id = $1::text::bigint AND lease IS NOT NULL",
    probe,
  );
  return Math.max(untilMs, toOptionalNumber(tried?.["due_at"]) ?? 0);
}

/** The maximum number of rows of one query. */
const pageSize = 200;

/** Entries in the order in which they were added. */
export async function* readEntries(
  database: OutboxDatabase,
  state: OutboxState | undefined,
  afterId: number,
  limit: number,
): AsyncGenerator<EntryRow> {
  let lastId = afterId;
  for (let left = limit; left > 0; left -= pageSize) {
    const size = Math.min(left, pageSize);
    const rows = await database.read(listEntries(state, lastId, size));
    yield* rows;
    if (rows.length < size) return;
    lastId = rows.at(-1)?.id ?? lastId;
  }
}

function* listEntries(state: OutboxState | undefined, afterId: number, limit: number): Operation<EntryRow[]> {
  const rows = yield* query(
    `${selectEntries}
     WHERE e.id > $1::text::bigint ${state === undefined ? "" : "AND e.state = $3::text"} ORDER BY e.id LIMIT $2::text::integer`,
    ...[afterId, limit, ...(state === undefined ? [] : [state])],
  );
  return rows.map(readEntryRow);
}

const states: readonly unknown[] = ["waiting", "issued", "rejected", "unknown"] satisfies OutboxState[];

export function requireState(state: unknown): void {
  if (state !== undefined && !states.includes(state))
    throw invalid('state must be "waiting", "issued", "rejected" or "unknown".');
}
