/** Idempotency keys: stores what each one led to for 24 hours (spec 8), and warnings about keys that are reused. */
import type { StoredCard } from "./cards.ts";
import type { Domain } from "./context.ts";
import { isObject } from "./input.ts";
import { type FieldError, Problem } from "./problem.ts";

const retentionMs = 24 * 3_600_000;

export interface IssuedUnderKey {
  cardId: string;
  atMs: number;
}

/** A 404 or 422 stored under an idempotency key, when the option `storeRefusals` is set. */
export interface StoredRefusal {
  /** The idempotency key. */
  id: string;
  atMs: number;
  status: number;
  detail: string;
  errors: readonly FieldError[];
  contentHash: number;
}

export interface IdempotencyStore {
  /** In the order of issuing, so that the oldest are deleted first. */
  issuedUnderKey: Map<string, IssuedUnderKey>;
  /** By key, in the order of their creation. */
  refusals: Map<string, StoredRefusal>;
}

type Keys = Domain<IdempotencyStore>;

/** The card issued under this key in the last 24 hours. */
export function findIssuedCardId({ state, nowMs }: Keys, key: string): string | undefined {
  const issued = state.issuedUnderKey.get(key);
  return issued !== undefined && nowMs() - issued.atMs < retentionMs ? issued.cardId : undefined;
}

/** The refusal stored under this key in the last 24 hours. */
export function findRefusal({ state, nowMs }: Keys, key: string): StoredRefusal | undefined {
  const refusal = state.refusals.get(key);
  return refusal !== undefined && nowMs() - refusal.atMs < retentionMs ? refusal : undefined;
}

export const toProblem = ({ status, detail, errors }: StoredRefusal) => new Problem(status, detail, errors);

export function storeIssuedCard(
  { state, nowMs }: Keys,
  key: string,
  card: StoredCard,
  contentHash: number,
): void {
  card.idempotencyKey = key;
  card.contentHash = contentHash;
  state.issuedUnderKey.delete(key); // the newest are last
  state.issuedUnderKey.set(key, { cardId: card.id, atMs: card.issuedAtMs });
  for (const [oldest, { atMs }] of state.issuedUnderKey) {
    if (nowMs() - atMs < retentionMs) break;
    state.issuedUnderKey.delete(oldest);
  }
}

export function storeRefusal(domain: Keys, key: string, problem: Problem, contentHash: number): void {
  const { state, nowMs, notifyChange } = domain;
  const { status, detail, errors } = problem;
  state.refusals.delete(key);
  state.refusals.set(key, { id: key, atMs: nowMs(), status, detail, errors, contentHash });
  notifyChange({ type: "refusal", id: key, action: "created" });
  for (const [oldest, { atMs }] of state.refusals) {
    if (nowMs() - atMs < retentionMs) break;
    state.refusals.delete(oldest);
    notifyChange({ type: "refusal", id: oldest, action: "removed" });
  }
}

/** Independent of the order of members. */
export function hashContent(templateId: string, body: unknown): number {
  return hashText(JSON.stringify([templateId, sortMembers(body)]));
}

/** FNV-1a, 32 bits. For one in four billion pairs of contents the hashes are equal and a warning is missing. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sortMembers(member)]));
}

/** A request that repeated an idempotency key with other content. Without personal data. */
export interface Warning {
  id: string;
  type: "replay-with-other-content";
  /** ISO 8601, by the clock of the sandbox. */
  at: string;
  /** What happened, and what to do. */
  message: string;
  /** Eight hexadecimal digits that are the same for the same key. */
  keyHash: string;
  /** The template in the path of the request; absent when it does not exist. */
  templateId?: string;
  /** The card that was returned; absent when the stored response was a refusal. */
  cardId?: string;
}

export interface WarningStore {
  /** The newest 100, oldest first. */
  warnings: Map<string, Warning>;
}

const maxWarnings = 100;

export function addWarning(
  { state, generateId, nowMs, notifyChange, log }: Domain<WarningStore>,
  details: Omit<Warning, "id" | "at">,
): void {
  const warning: Warning = { id: generateId("wrn"), at: new Date(nowMs()).toISOString(), ...details };
  state.warnings.set(warning.id, warning);
  notifyChange({ type: "warning", id: warning.id, action: "created" });
  const [oldest] = state.warnings.keys();
  if (state.warnings.size > maxWarnings && oldest !== undefined) {
    state.warnings.delete(oldest);
    notifyChange({ type: "warning", id: oldest, action: "removed" });
  }
  log(`warning: ${warning.message}`);
}
