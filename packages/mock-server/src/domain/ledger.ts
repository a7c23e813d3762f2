/** Records what changes a balance, and tells of it: one operation, one `balance.changed`, perhaps a new level. */

import type { components } from "@loyalty-cards/openapi";
import {
  type Card,
  type CardStore,
  cardOf,
  existingCard,
  levelPoints,
  roundPoints,
  type StoredCard,
  setBalance,
} from "./cards.ts";
import { NotFoundError } from "./not-found.ts";
import type { Domain } from "./surroundings.ts";
import { type Template, type TemplateStore, tierOf } from "./templates.ts";

/** An operation as the API answers it. */
export type Operation = Required<components["schemas"]["Operation"]>;

export interface StoredOperation {
  id: string;
  cardId: string;
  type: OperationType;
  change: number;
  balance: number;
  createdAt: string;
  isCancelled: boolean;
}

export interface LedgerStore {
  operations: Map<string, StoredOperation>;
  operationIdsByCard: Map<string, string[]>;
}

type Books = Domain<LedgerStore & CardStore & TemplateStore>;

export type OperationType = "purchase" | "redemption" | "reward" | "correction" | "cancellation";

export function operationOf({ id, type, change, balance, createdAt }: StoredOperation): Operation {
  return { id, type, change, balance, createdAt };
}

/** @throws {RangeError} for points that are not positive, an unknown card, a redemption beyond the balance. */
export function recordPoints(
  domain: Books,
  cardId: string,
  type: "purchase" | "redemption" | "reward",
  points: number,
): Operation {
  const change = positive(points);
  return record(domain, cardId, type, type === "redemption" ? -change : change);
}

/** Rounded as balances are. */
function positive(points: number): number {
  const rounded = Number.isFinite(points) ? roundPoints(points) : Number.NaN;
  if (rounded > 0) return rounded;
  throw new RangeError(`points must be a positive number, at least 0.000001, not ${points}.`);
}

/** A signed correction. @throws {RangeError} for 0, for what is no number, and below a balance of 0. */
export function recordCorrection(domain: Books, cardId: string, change: number): Operation {
  const rounded = Number.isFinite(change) ? roundPoints(change) : 0;
  if (rounded === 0)
    throw new RangeError(
      `change must be a number other than 0, at least 0.000001 above or below, not ${change}.`,
    );
  return record(domain, cardId, "correction", rounded);
}

/** Reverses one operation, once. @throws {RangeError} when there is none, or it was cancelled or is a cancellation. */
export function cancelOperation(domain: Books, operationId: string): Operation {
  const cancelled = domain.state.operations.get(operationId);
  if (cancelled === undefined) throw new NotFoundError(`There is no operation "${operationId}".`);
  if (cancelled.isCancelled) throw new RangeError("The operation was cancelled already.");
  if (cancelled.type === "cancellation") throw new RangeError("A cancellation cannot be cancelled.");
  const operation = record(domain, cancelled.cardId, "cancellation", -cancelled.change);
  cancelled.isCancelled = true;
  domain.tell({ type: "operation", id: operationId, action: "changed" });
  return operation;
}

/** Points of old purchases that expire. */
export interface Expiry {
  points: number;
  /** true: the points stay in the balance and only stop counting for the level. Default false: they leave the balance. */
  keepBalance?: boolean;
}

/**
 * Lets points of old purchases expire (spec 6.2): they no longer count for the level. With `keepBalance` a new level emits
 * `tier.changed` alone; without it the points leave the balance too, by a correction that emits `balance.changed`.
 * @throws {RangeError} for points that are not positive, an unknown card, more points than count for the level.
 */
export function expirePoints(domain: Books, cardId: string, { points, keepBalance = false }: Expiry): Card {
  const card = existingCard(domain, cardId);
  const expired = positive(points);
  if (expired > levelPoints(card)) {
    throw new RangeError(`${levelPoints(card)} points count for the level; ${points} cannot expire.`);
  }
  if (keepBalance) {
    card.expiredPoints = roundPoints((card.expiredPoints ?? 0) + expired);
    domain.tell({ type: "card", id: cardId, action: "changed" });
    updateTier(domain, card);
  } else record(domain, cardId, "correction", -expired);
  return cardOf(domain, card);
}

/** The newest operations first (spec 4.3). */
export function newestOperations({ state }: Domain<LedgerStore>, cardId: string, limit: number): Operation[] {
  const ids = state.operationIdsByCard.get(cardId) ?? [];
  return ids
    .slice(-limit)
    .reverse()
    .flatMap((id) => state.operations.get(id) ?? [])
    .map(operationOf);
}

/** @param change rounded. */
function record(domain: Books, cardId: string, type: OperationType, change: number): Operation {
  const { state, newIdentifier, nowMs } = domain;
  const card = existingCard(domain, cardId);
  const balance = roundPoints(card.balance + change);
  if (!Number.isSafeInteger(Math.trunc(balance)))
    throw new RangeError("The balance would be too large to be exact.");
  if (balance < 0) throw new RangeError(`The balance is ${card.balance}; it cannot change by ${change}.`);

  const operation: StoredOperation = {
    id: newIdentifier("op"),
    cardId,
    type,
    change,
    balance,
    createdAt: new Date(nowMs()).toISOString(),
    isCancelled: false,
  };
  state.operations.set(operation.id, operation);
  const ids = state.operationIdsByCard.get(cardId);
  if (ids === undefined) state.operationIdsByCard.set(cardId, [operation.id]);
  else ids.push(operation.id);

  setBalance(templateOf(domain, card), card, balance);
  domain.tell({ type: "operation", id: operation.id, action: "created" });
  domain.tell({ type: "card", id: cardId, action: "changed" });
  const { customerId } = card;
  domain.emit("balance.changed", {
    passId: cardId,
    customerId,
    balance,
    change,
    operation: { id: operation.id, type },
  });
  updateTier(domain, card);
  return operationOf(operation);
}

function updateTier(domain: Books, card: StoredCard): void {
  const { id: passId, customerId, tier: previous } = card;
  card.tier = tierOf(templateOf(domain, card), levelPoints(card));
  if (card.tier !== previous) {
    domain.emit("tier.changed", { passId, customerId, tier: card.tier, previous });
  }
}

const templateOf = ({ state }: Books, { templateId }: StoredCard) =>
  state.templates.get(templateId) as Template; // templates are archived, never removed
