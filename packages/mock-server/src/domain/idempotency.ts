/** Remembers what each idempotency key led to, for 24 hours (spec 8): the card and, on request, the refusal. */
import type { StoredCard } from "./cards.ts";
import { type MemberFault, Problem } from "./problem.ts";
import { isObject } from "./shape.ts";
import type { Domain } from "./surroundings.ts";

const retentionMs = 24 * 3_600_000;

export interface IssuedUnderKey {
  cardId: string;
  atMs: number;
}

/** A 404 or 422 that was stored under a key; only a service with `storeRefusals` has any. */
export interface StoredRefusal {
  /** The idempotency key. */
  id: string;
  atMs: number;
  status: number;
  detail: string;
  errors: readonly MemberFault[];
  contentHash: number;
}

export interface IdempotencyStore {
  /** In the order of issuing, so that the oldest are forgotten first. */
  issuedUnderKey: Map<string, IssuedUnderKey>;
  /** By key, in the order of refusing. */
  refusals: Map<string, StoredRefusal>;
}

type Keys = Domain<IdempotencyStore>;

/** The card issued under this key within the retention. */
export function cardIssuedUnder({ state, nowMs }: Keys, key: string): string | undefined {
  const issued = state.issuedUnderKey.get(key);
  return issued !== undefined && nowMs() - issued.atMs < retentionMs ? issued.cardId : undefined;
}

/** The refusal stored under this key within the retention. */
export function refusalStoredUnder({ state, nowMs }: Keys, key: string): StoredRefusal | undefined {
  const refusal = state.refusals.get(key);
  return refusal !== undefined && nowMs() - refusal.atMs < retentionMs ? refusal : undefined;
}

export const problemOf = ({ status, detail, errors }: StoredRefusal) => new Problem(status, detail, errors);

export function remember({ state, nowMs }: Keys, key: string, card: StoredCard, contentHash: number): void {
  card.idempotencyKey = key;
  card.contentHash = contentHash;
  state.issuedUnderKey.delete(key); // to the end of the order, where the newest are
  state.issuedUnderKey.set(key, { cardId: card.id, atMs: card.issuedAtMs });
  for (const [oldest, { atMs }] of state.issuedUnderKey) {
    if (nowMs() - atMs < retentionMs) break;
    state.issuedUnderKey.delete(oldest);
  }
}

export function rememberRefusal(domain: Keys, key: string, problem: Problem, contentHash: number): void {
  const { state, nowMs, tell } = domain;
  const { status, detail, errors } = problem;
  state.refusals.delete(key);
  state.refusals.set(key, { id: key, atMs: nowMs(), status, detail, errors, contentHash });
  tell({ type: "refusal", id: key, action: "created" });
  for (const [oldest, { atMs }] of state.refusals) {
    if (nowMs() - atMs < retentionMs) break;
    state.refusals.delete(oldest);
    tell({ type: "refusal", id: oldest, action: "removed" });
  }
}

/** Equal for equal content, whatever the order of the members. */
export function hashContent(templateId: string, body: unknown): number {
  return hashText(JSON.stringify([templateId, sorted(body)]));
}

/** FNV-1a with 32 bits: two contents in four billion have the same hash, and then a warning is missing. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
