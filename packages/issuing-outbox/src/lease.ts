/** Leases entries: which are due, in which order, and which must wait for another entry of the same contact. */
import { work } from "./add.ts";
import { readScopes, type Scope, selectProbe } from "./pause.ts";
import { type EntryRow, readEntryRow, selectEntries } from "./rows.ts";
import { checkSettings, recordTime, type Settings } from "./settings.ts";
import { formatList, formatRows, getNow, type Operation, query } from "./statement.ts";

/** An entry that belongs to one attempt until its lease ends. Its times are those before the attempt. */
export interface LeasedEntry extends EntryRow {
  lease: string;
  leasedAtMs: number;
  isProbe: boolean;
}

export interface LeaseRequest {
  limit: number;
  leaseMs: number;
  /** How many of them may be requests; the others are callbacks. */
  maxRequests: number;
  /** Leases only this entry, even if it is not due: for `issue`. */
  id?: number;
}

export interface LeaseResult {
  leased: LeasedEntry[];
  /** Entries that became `unknown`, because their first attempt was 24 hours ago. */
  expired: EntryRow[];
  nowMs: number;
  paused: Scope[];
}

/**
 * The service stores a key for 24 hours ([spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)). No request is sent in the last minute:
 * clocks differ, and a request takes time.
 */
export const keyLifetimeMs = 24 * 3_600_000 - 60_000;

/** Leases callbacks that are due and requests that may be sent. The time of the attempt is stored with the lease. */
export function* leaseEntries(settings: Settings, request: LeaseRequest): Operation<LeaseResult> {
  yield* checkSettings(settings);
  const nowMs = yield* getNow();
  yield* recordTime(nowMs);
  const scopes = yield* readScopes();
  const paused = scopes.filter(({ reason }) => reason !== undefined);
  const all = paused.find(({ template }) => template === "");
  const rows: EntryRow[] = [];
  const probes = new Set<number>();
  if (all?.reason !== "restored") {
    const templates = scopes.filter(({ template }) => template !== "");
    rows.push(...(yield* selectDue(work.callback, templates, request, nowMs)));
    const free = templates.filter(({ reason }) => all === undefined && reason === undefined);
    const limit = Math.min(request.limit, rows.length + request.maxRequests);
    for (const each of [work.resend, work.first, work.bulk])
      if (rows.length < limit)
        rows.push(...(yield* selectDue(each, free, { ...request, limit }, nowMs, rows)));
    for (const scope of all === undefined ? paused : [all]) {
      const probe = rows.length < limit ? yield* selectProbe(scope, request, nowMs) : undefined;
      if (probe === undefined) continue;
      rows.push(probe);
      probes.add(probe.id);
    }
  }
  const expired = rows.filter(
    ({ firstAttemptAtMs, work: due }) =>
      due !== work.callback && firstAttemptAtMs !== undefined && nowMs - firstAttemptAtMs >= keyLifetimeMs,
  );
  yield* expire(expired, nowMs);
  const lease = `${settings.processId ?? ""}_${crypto.randomUUID()}`;
  const live = rows.filter((row) => !expired.includes(row));
  const ready = yield* lockContacts(live, lease, nowMs, request.leaseMs);
  yield* markLeased(ready, lease, nowMs, request.leaseMs);
  const leased = ready.map((row) => ({ ...row, lease, leasedAtMs: nowMs, isProbe: probes.has(row.id) }));
  return { leased, expired, nowMs, paused };
}

/** Selects entries whose work of this kind is due, for each scope the oldest first. @param rows entries that count towards the limit already. */
function* selectDue(
  due: number,
  scopes: readonly Scope[],
  { limit, id }: LeaseRequest,
  nowMs: number,
  rows: readonly EntryRow[] = [],
): Operation<EntryRow[]> {
  const found: EntryRow[] = [];
  for (const { template } of scopes) {
    const free = limit - rows.length - found.length;
    if (free <= 0) break;
    const only =
      id === undefined
        ? "e.due_at <= $3::text::bigint"
        : "e.id = $3::text::bigint AND (e.lease IS NULL OR e.due_at <= $5::text::bigint)";
    const selected = yield* query(
      `${selectEntries}
       WHERE e.work = $1::text::integer AND e.template = $2::text AND ${only}
       ORDER BY e.due_at LIMIT $4::text::integer FOR UPDATE OF e SKIP LOCKED`,
      ...[due, template, id ?? nowMs, free],
      ...(id === undefined ? [] : [nowMs]),
    );
    found.push(...selected.map(readEntryRow));
  }
  return found;
}

/** Ends entries whose key the service may have forgotten: another request could issue a second card. */
function* expire(rows: readonly EntryRow[], nowMs: number): Operation<void> {
  if (rows.length === 0) return;
  yield* query(
    `UPDATE issuing_outbox_entries SET state = 'unknown', work = NULL, lease = NULL, error_code = 'idempotency-expired', ended_at = $1::text::bigint
     WHERE id IN (${formatList("bigint", rows.length, 2)})`,
    nowMs,
    ...rows.map(({ id }) => id),
  );
}

/**
 * Locks all contacts, in the same order in every process, so that no two processes wait for each other. An entry whose
 * contact is locked waits until that lock is released, or its lease ends.
 * @returns the entries whose contacts are locked.
 */
function* lockContacts(
  rows: readonly EntryRow[],
  lease: string,
  nowMs: number,
  leaseMs: number,
): Operation<EntryRow[]> {
  const wanted = rows.filter(({ work: due }) => due !== work.callback);
  const contacts = [...new Set(wanted.flatMap((row) => row.contacts))].sort();
  if (contacts.length === 0) return [...rows];
  const taken = yield* query(
    `INSERT INTO issuing_outbox_contact_locks AS locks (contact, lease, until_at)
     VALUES ${contacts.map((_, index) => `($${index + 3}::text, $1::text, $2::text::bigint)`).join(", ")}
     ON CONFLICT (contact) DO UPDATE SET lease = excluded.lease, until_at = excluded.until_at
     WHERE locks.until_at <= $${contacts.length + 3}::text::bigint RETURNING contact`,
    lease,
    nowMs + leaseMs,
    ...contacts,
    nowMs,
  );
  const free = new Set(taken.map(({ contact }) => String(contact)));
  const ready: EntryRow[] = [];
  for (const row of rows) {
    const blockedBy =
      row.work === work.callback ? undefined : row.contacts.find((contact) => !free.has(contact));
    if (blockedBy !== undefined) {
      yield* query(
        "UPDATE issuing_outbox_entries SET blocked_by = $1::text, due_at = $2::text::bigint WHERE id = $3::text::bigint",
        ...[blockedBy, nowMs + leaseMs, row.id],
      );
      continue;
    }
    for (const contact of row.contacts) free.delete(contact); // the next entry of this contact waits for this one
    ready.push(row);
  }
  const used = new Set(ready.flatMap((row) => row.contacts));
  const unused = taken.map(({ contact }) => String(contact)).filter((contact) => !used.has(contact));
  yield* unlockContacts([{ contacts: unused, lease }], nowMs);
  return ready;
}

/** Unlocks the contacts of entries, and makes the next entry of each contact due. */
export function* unlockContacts(
  entries: readonly Pick<EntryRow, "contacts" | "lease">[],
  nowMs: number,
): Operation<void> {
  const locks = entries.flatMap(({ contacts, lease }) =>
    lease === undefined ? [] : contacts.map((contact) => [contact, lease] as const),
  );
  if (locks.length === 0) return;
  locks.sort(([one], [other]) => (one < other ? -1 : 1));
  yield* query(
    `DELETE FROM issuing_outbox_contact_locks WHERE (contact, lease) IN (VALUES ${formatRows(["text", "text"], locks.length)})`,
    ...locks.flat(),
  );
  const contacts = [...new Set(locks.map(([contact]) => contact))];
  const blocked = yield* query(
    `SELECT DISTINCT blocked_by FROM issuing_outbox_entries WHERE blocked_by IN (${formatList("text", contacts.length, 1)}) ORDER BY blocked_by`,
    ...contacts,
  );
  for (const row of blocked) {
    yield* query(
      `UPDATE issuing_outbox_entries SET due_at = $1::text::bigint, blocked_by = NULL WHERE id IN (
         SELECT id FROM issuing_outbox_entries WHERE blocked_by = $2::text ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
       )`,
      ...[nowMs, String(row["blocked_by"])],
    );
  }
}

/** Ends the leases of processes that have ended, so that no entry waits until they expire. */
export function* releaseEnded(isEnded: (lease: string) => boolean): Operation<void> {
  const nowMs = yield* getNow();
  const isLeased = `work IN (${work.callback}, ${work.resend}) AND lease`;
  const leases = yield* query(
    `SELECT DISTINCT lease FROM issuing_outbox_entries WHERE ${isLeased} IS NOT NULL`,
  );
  for (const lease of leases.map((row) => String(row["lease"])).filter(isEnded)) {
    const locks = yield* query(
      "SELECT contact FROM issuing_outbox_contact_locks WHERE lease = $1::text",
      lease,
    );
    yield* unlockContacts([{ contacts: locks.map(({ contact }) => String(contact)), lease }], nowMs);
    yield* query(
      `UPDATE issuing_outbox_scopes SET until_at = $1::text::bigint
       WHERE probe IN (SELECT id FROM issuing_outbox_entries WHERE ${isLeased} = $2::text)`,
      ...[nowMs, lease],
    );
    yield* query(
      `UPDATE issuing_outbox_entries SET lease = NULL, due_at = $1::text::bigint WHERE ${isLeased} = $2::text`,
      ...[nowMs, lease],
    );
  }
}

/** Stores the lease. After a crash the next process must assume that the service received the request at this time. */
function* markLeased(
  rows: readonly EntryRow[],
  lease: string,
  nowMs: number,
  leaseMs: number,
): Operation<void> {
  const ids = (isCallback: boolean) =>
    rows.filter((row) => (row.work === work.callback) === isCallback).map(({ id }) => id);
  const requests = ids(false);
  const callbacks = ids(true);
  if (requests.length > 0) {
    yield* query(
      `UPDATE issuing_outbox_entries SET lease = $1::text, due_at = $2::text::bigint, work = ${work.resend}, blocked_by = NULL,
         attempts = attempts + 1, last_attempt_at = $3::text::bigint, first_attempt_at = coalesce(first_attempt_at, $3::text::bigint)
       WHERE id IN (${formatList("bigint", requests.length, 4)})`,
      ...[lease, nowMs + leaseMs, nowMs, ...requests],
    );
  }
  if (callbacks.length > 0) {
    yield* query(
      `UPDATE issuing_outbox_entries SET lease = $1::text, due_at = $2::text::bigint, deliveries = deliveries + 1
       WHERE id IN (${formatList("bigint", callbacks.length, 3)})`,
      ...[lease, nowMs + leaseMs, ...callbacks],
    );
  }
}
