/** Pauses that all processes share: of everything, or of one template. One entry is tried at a time, at growing intervals. */
import { work } from "./add.ts";
import type { Pause, PauseReason } from "./entry.ts";
import { type EntryRow, readEntryRow, selectEntries } from "./rows.ts";
import {
  getNow,
  type Operation,
  query,
  type Row,
  toNumber,
  toOptionalNumber,
  toOptionalText,
} from "./statement.ts";

export const pausePolicy = {
  /** Each pause is twice as long as the previous one. */
  initialMs: 500,
  /** The longest pause, also when the service asks for a longer one. */
  maxMs: 15 * 60_000,
  /**
   * After this many tries that ended with 500, another entry is tried, so that an entry that always makes the service fail does not
   * block all others. Other failures do not depend on the entry, so it stays the same: the 24 hours of a key begin with its first try.
   */
  triesBeforeNext: [4, 16, 64],
} as const;

/** The pause of a template, or of all entries (`""`). */
export interface Scope {
  template: string;
  reason: PauseReason | undefined;
  sinceMs: number;
  /** When an entry is tried. Undefined: when a person calls `resume`. */
  untilMs: number | undefined;
  requestedMs: number | undefined;
  probe: number | undefined;
  probes: number;
}

const selectScopes =
  "SELECT template, reason, since_at, until_at, requested_ms, probe, probes FROM issuing_outbox_scopes";

export function* readScopes(): Operation<Scope[]> {
  return (yield* query(`${selectScopes} ORDER BY template`)).map(readScope);
}

function readScope(row: Row): Scope {
  return {
    template: String(row["template"]),
    reason: toOptionalText(row["reason"]) as PauseReason | undefined,
    sinceMs: toNumber(row["since_at"]),
    untilMs: toOptionalNumber(row["until_at"]),
    requestedMs: toOptionalNumber(row["requested_ms"]),
    probe: toOptionalNumber(row["probe"]),
    probes: toNumber(row["probes"]),
  };
}

export const toPause = ({ template, reason, sinceMs, untilMs, requestedMs }: Scope): Pause => ({
  reason: reason as PauseReason,
  ...(template !== "" && { template }),
  since: new Date(sinceMs),
  ...(untilMs !== undefined && { until: new Date(untilMs) }),
  ...(requestedMs !== undefined && { retryAfterMs: requestedMs }),
});

/**
 * Selects the entry that is tried when a pause is over. It is always the same one, so that the 24 hours of no other key begin; if
 * possible one that may have been sent already. While it is leased, no process tries another entry.
 */
export function* selectProbe(
  { template, untilMs = Number.POSITIVE_INFINITY, probe: lastProbe = 0 }: Scope,
  { id }: { id?: number },
  nowMs: number,
): Operation<EntryRow | undefined> {
  if (untilMs > nowMs) return undefined;
  const probe = yield* findProbe(template, lastProbe);
  const isLeased = probe?.lease !== undefined && probe.dueAtMs > nowMs;
  if (probe === undefined || isLeased || (id !== undefined && probe.id !== id)) return undefined;
  const [locked] = yield* query(
    `SELECT id FROM issuing_outbox_entries WHERE id = $1::text::bigint AND (lease IS NULL OR due_at <= $2::text::bigint)
     FOR UPDATE SKIP LOCKED`,
    ...[probe.id, nowMs],
  );
  return locked && probe;
}

function* findProbe(template: string, id: number): Operation<EntryRow | undefined> {
  const select = (condition: string, order: string) =>
    `${selectEntries}
     WHERE ${condition} AND ${template === "" ? "$1::text = ''" : "e.template = $1::text"} ${order} LIMIT 1`;
  const [same] = yield* query(
    select(`e.id = $2::text::bigint AND e.work >= ${work.resend}`, ""),
    template,
    id,
  );
  if (same !== undefined) return readEntryRow(same);
  for (const each of [work.resend, work.first, work.bulk]) {
    const order = each === work.resend ? "ORDER BY e.first_attempt_at" : "";
    const [next] = yield* query(select(`e.work = ${each}`, order), template);
    if (next !== undefined) return readEntryRow(next);
  }
  return undefined;
}

export interface PauseRequest {
  template: string;
  reason: PauseReason;
  /** The entry whose request failed. */
  id: number;
  isProbe: boolean;
  /** How long the service asked to wait. */
  requestedMs: number | undefined;
  /** The service responded 500. */
  isInternalError: boolean;
}

/**
 * Begins a pause, makes it longer when its probe failed, or ends it when only one entry fails. A pause that gets another reason has
 * begun anew.
 */
export function* pauseScope(
  { template, reason, id, isProbe, requestedMs, isInternalError }: PauseRequest,
  random: () => number,
): Operation<{ scope: Scope; change: "begun" | "longer" | "ended" } | undefined> {
  const nowMs = yield* getNow();
  // Locked, so that failures at the same time begin one pause.
  const [row] = yield* query(`${selectScopes} WHERE template = $1::text FOR UPDATE`, template);
  const scope = row && readScope(row);
  if (scope === undefined || scope.reason === "restored") return undefined;
  const isNew = scope.reason === undefined;
  if (!isNew && !isProbe && requestedMs === undefined) return undefined;
  const probes = isNew ? 1 : scope.probes + Number(isProbe);
  const { initialMs, maxMs, triesBeforeNext } = pausePolicy;
  const ownMs = Math.min(maxMs, initialMs * 2 ** Math.min(probes - 1, 20)) * (0.75 + random() / 4);
  const untilMs = Math.round(nowMs + Math.max(ownMs, Math.min(requestedMs ?? 0, maxMs)));
  const isNextTried = isProbe && isInternalError && (triesBeforeNext as readonly number[]).includes(probes);
  const other = isNextTried ? yield* findOther(template, id) : undefined;
  if (isNextTried && other === undefined) {
    yield* endScope(template); // the next entry that is added shows whether only this one fails
    return { scope, change: "ended" };
  }
  const begun: Scope = {
    template,
    reason,
    sinceMs: isNew ? nowMs : scope.sinceMs,
    untilMs,
    requestedMs,
    probe: other ?? (isNew || isProbe ? id : scope.probe),
    probes,
  };
  yield* query(
    `UPDATE issuing_outbox_scopes SET reason = $1::text, since_at = $2::text::bigint, until_at = $3::text::bigint,
       requested_ms = $4::text::bigint, probe = $5::text::bigint, probes = $6::text::integer WHERE template = $7::text`,
    ...[reason, begun.sinceMs, untilMs, requestedMs ?? null, begun.probe ?? null, probes, template],
  );
  return { scope: begun, change: scope.reason === reason ? "longer" : "begun" };
}

/** Finds another entry to try, if possible one that may have been sent already. */
function* findOther(template: string, id: number): Operation<number | undefined> {
  for (const each of [work.resend, work.first, work.bulk]) {
    const [row] = yield* query(
      `SELECT id FROM issuing_outbox_entries WHERE work = ${each} AND id <> $1::text::bigint
       AND ${template === "" ? "$2::text = ''" : "template = $2::text"} LIMIT 1`,
      id,
      template,
    );
    if (row !== undefined) return toNumber(row["id"]);
  }
  return undefined;
}

/** Ends the pauses of a template and of all entries, after a response that shows that requests are processed. @returns the pauses that ended. */
export function* endPauses(template: string): Operation<Scope[]> {
  const scopes = yield* readScopes();
  const ended = scopes.filter(
    (scope) =>
      scope.reason !== undefined &&
      scope.reason !== "restored" &&
      (scope.template === "" || scope.template === template),
  );
  for (const scope of ended) yield* endScope(scope.template);
  return ended;
}

function* endScope(template: string): Operation<void> {
  yield* query(
    `UPDATE issuing_outbox_scopes SET reason = NULL, since_at = NULL, until_at = NULL, requested_ms = NULL, probe = NULL, probes = 0
     WHERE template = $1::text`,
    template,
  );
}
