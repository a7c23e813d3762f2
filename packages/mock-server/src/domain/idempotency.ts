/** Idempotency keys: stores the card or the refusal of each key for 24 hours (spec 8). */
import type { Domain } from "./context.ts";
import { Problem } from "./problem.ts";
import type { StoredCard, StoredRefusal } from "./state.ts";

const retentionMs = 24 * 3_600_000;

/** The card issued under this key in the last 24 hours. */
export function findIssuedCard({ state, nowMs }: Domain, key: string): StoredCard | undefined {
  const card = state.cards.get(state.cardIdByKey.get(key) ?? "");
  return card !== undefined && nowMs() - card.issuedAtMs < retentionMs ? card : undefined;
}

/** The refusal stored under this key in the last 24 hours. */
export function findRefusal({ state, nowMs }: Domain, key: string): StoredRefusal | undefined {
  const refusal = state.refusals.get(key);
  return refusal !== undefined && nowMs() - refusal.atMs < retentionMs ? refusal : undefined;
}

export const toProblem = ({ status, detail, errors }: StoredRefusal) => new Problem(status, detail, errors);

export function storeIssuedCard(domain: Domain, key: string, card: StoredCard, contentHash: number): void {
  const { state } = domain;
  card.contentHash = contentHash;
  state.cardIdByKey.delete(key); // the newest are last
  state.cardIdByKey.set(key, card.id);
  for (const oldest of state.cardIdByKey.keys()) {
    if (findIssuedCard(domain, oldest) !== undefined) break;
    state.cardIdByKey.delete(oldest);
  }
}

export function storeRefusal(domain: Domain, key: string, problem: Problem, contentHash: number): void {
  const { state, nowMs, notifyChange } = domain;
  const { status, message: detail, errors } = problem;
  state.refusals.delete(key);
  state.refusals.set(key, { atMs: nowMs(), status, detail, errors, contentHash });
  notifyChange({ type: "refusal", id: key });
  for (const [oldest, { atMs }] of state.refusals) {
    if (nowMs() - atMs < retentionMs) break;
    state.refusals.delete(oldest);
    notifyChange({ type: "refusal", id: oldest });
  }
}

/** Ignores the order of members. One in four billion pairs of different contents has equal hashes; then a warning is missing. */
export const hashContent = (templateId: string, body: unknown): number =>
  hashText(templateId, hashValue(body));

/** A sum over the members, so that their order does not matter. The name of a list item is its index. */
function hashValue(value: unknown): number {
  if (typeof value !== "object" || value === null) return hashText(`${typeof value} ${value}`);
  let hash = Array.isArray(value) ? 1 : 2;
  for (const name of Object.keys(value)) {
    hash = (hash + hashText(name, hashValue((value as Record<string, unknown>)[name]))) | 0;
  }
  return hash;
}

/** FNV-1a, 32 bits. @param start the hash of what comes before the text. */
export function hashText(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
