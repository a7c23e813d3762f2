/** Remembers which key issued which card, for 24 hours (spec 8). */
import type { Domain } from "./surroundings.ts";

const retentionMs = 24 * 3_600_000;

export interface IssuedUnderKey {
  cardId: string;
  atMs: number;
}

export interface IdempotencyStore {
  /** In the order of issuing, so that the oldest are forgotten first. */
  issuedUnderKey: Map<string, IssuedUnderKey>;
}

/** The card issued under this key within the retention. */
export function cardIssuedUnder({ state, nowMs }: Domain<IdempotencyStore>, key: string): string | undefined {
  const issued = state.issuedUnderKey.get(key);
  return issued !== undefined && nowMs() - issued.atMs < retentionMs ? issued.cardId : undefined;
}

/** Only what succeeded is remembered: after a refusal the same key may try again. */
export function remember({ state, nowMs }: Domain<IdempotencyStore>, key: string, cardId: string): void {
  state.issuedUnderKey.delete(key); // to the end of the order, where the newest are
  state.issuedUnderKey.set(key, { cardId, atMs: nowMs() });
  for (const [oldest, { atMs }] of state.issuedUnderKey) {
    if (nowMs() - atMs < retentionMs) break;
    state.issuedUnderKey.delete(oldest);
  }
}
