/** Idempotency keys: stores the card or the refusal of each key for 24 hours (spec 8). */
import type { Domain } from "./context.ts";
import { isObject } from "./problem.ts";
import type { StoredResult } from "./state.ts";

const retentionMs = 24 * 3_600_000;

/** The result stored under this key in the last 24 hours. */
export function findResult({ state, nowMs }: Domain, key: string): StoredResult | undefined {
  const stored = state.results.get(key);
  return stored !== undefined && nowMs() - stored.atMs < retentionMs ? stored : undefined;
}

export function storeResult({ state, nowMs, notifyChange }: Domain, key: string, result: StoredResult): void {
  state.results.delete(key); // the newest are last
  state.results.set(key, result);
  for (const [oldest, { atMs }] of state.results) {
    if (nowMs() - atMs < retentionMs) break;
    state.results.delete(oldest);
  }
  notifyChange();
}

/** Ignores the order of members. One in four billion pairs of different contents has equal hashes; then a warning is missing. */
export function hashContent(templateId: string, body: unknown): number {
  const text = JSON.stringify([templateId, body], (_, value) =>
    isObject(value) ? sortMembers(value) : value,
  );
  let hash = 0x811c9dc5; // FNV-1a, 32 bits
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

const sortMembers = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
