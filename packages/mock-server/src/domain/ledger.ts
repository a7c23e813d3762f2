/**
 * Ledger: records each change of a balance as an operation, emits `balance.changed`, and updates
 * the tier.
 */

import { describeValue } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { components } from "@loyalty-cards/openapi";
import type { components as ControlSchemas } from "@loyalty-cards/openapi/control";
import {
  type ActionDetails,
  type Card,
  getCard,
  getTierPoints,
  recordAction,
  roundPoints,
  setBalance,
  toCard,
} from "./cards.ts";
import { type Domain, getById } from "./context.ts";
import { ConflictError, InputError } from "./errors.ts";
import { generateId } from "./ids.ts";
import type { StoredCard, StoredOperation } from "./state.ts";
import { getTemplate, getTier } from "./templates.ts";

/** An operation, as in responses of the API. */
export type Operation = Required<components["schemas"]["Operation"]>;

export function toOperation({ id, type, change, balance, createdAt }: StoredOperation): Operation {
  return { id, type, change, balance, createdAt };
}

/**
 * @throws {TypeError} for points that are not positive.
 * @throws {RangeError} for an unknown card, and for a redemption beyond the balance.
 */
export function recordPoints(
  domain: Domain,
  cardId: string,
  { type, points }: { type: "purchase" | "redemption" | "reward"; points: number },
): Operation {
  const positive = toPositivePoints(points);
  const change = type === "redemption" ? -positive : positive;
  return recordOperation(domain, cardId, { type, change });
}

/** Rounds as balances are rounded. */
function toPositivePoints(points: number): number {
  const rounded = Number.isFinite(points) ? roundPoints(points) : Number.NaN;
  if (rounded > 0) return rounded;
  throw new InputError(
    `"points" must be a positive number, at least 0.000001, not ${describeValue(points)}: pass { points: 120 }.`,
  );
}

/**
 * Records a signed correction.
 * @throws {TypeError} for 0 and a value that is not a number.
 * @throws {RangeError} when the balance would be negative.
 */
export function recordCorrection(domain: Domain, cardId: string, change: number): Operation {
  const rounded = Number.isFinite(change) ? roundPoints(change) : 0;
  if (rounded === 0)
    throw new InputError(
      `"change" must be a number other than 0, at least 0.000001 above or below, not ${change}.`,
    );
  return recordOperation(domain, cardId, { type: "correction", change: rounded });
}

/**
 * Reverses an operation.
 * @throws {RangeError} for an unknown or cancelled operation, and for a cancellation.
 */
export function cancelOperation(domain: Domain, operationId: string): Operation {
  const cancelled = getById(domain.state.operations, operationId, "operation");
  if (cancelled.isCancelled) throw new ConflictError("The operation was already cancelled.");
  if (cancelled.type === "cancellation")
    throw new ConflictError("A cancellation cannot be cancelled.");
  const reversal = { type: "cancellation", change: -cancelled.change } as const;
  const operation = recordOperation(domain, cancelled.cardId, reversal);
  cancelled.isCancelled = true;
  domain.notifyChange();
  return operation;
}

/** Points of old purchases that expire. */
export type Expiry = ControlSchemas["schemas"]["Expiry"];

const expiryNames = { points: true, keepBalance: true } satisfies OptionNames<Expiry>;

/**
 * See `MockService.cards.expire`.
 * @throws {TypeError} for points that are not positive.
 * @throws {RangeError} for an unknown card, and for more points than count for the tier.
 */
export function expirePoints(domain: Domain, cardId: string, expiry: Expiry): Card {
  requireKnownNames("expire", expiry, expiryNames);
  const { points, keepBalance = false } = expiry;
  const card = getCard(domain, cardId);
  const expired = toPositivePoints(points);
  if (expired > getTierPoints(card))
    throw new ConflictError(
      `${getTierPoints(card)} points count for the tier; ${points} cannot expire.`,
    );
  const action: ActionDetails = { type: "expiry", change: -expired };
  if (keepBalance) {
    card.expiredPoints = roundPoints(card.expiredPoints + expired);
    const actionId = recordAction(domain, cardId, { ...action, keepsBalance: true });
    domain.notifyChange();
    updateTier(domain, card, actionId);
  } else recordOperation(domain, cardId, { type: "correction", change: -expired, action });
  return toCard(domain, card);
}

/**
 * The operations of a card, newest first ([spec
 * 4.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-3)).
 */
export const listOperations = ({ state }: Domain, cardId: string): StoredOperation[] =>
  (state.operationIdsByCard.get(cardId) ?? [])
    .flatMap((id) => state.operations.get(id) ?? [])
    .reverse();

interface NewOperation {
  type: StoredOperation["type"];
  /** The rounded change. */
  change: number;
  /** What the staff did, when the operation has another name. */
  action?: ActionDetails;
}

function recordOperation(
  domain: Domain,
  cardId: string,
  { type, change, action = { type, change } }: NewOperation,
): Operation {
  const { state, nowMs } = domain;
  const card = getCard(domain, cardId);
  const balance = roundPoints(card.balance + change);
  if (!Number.isSafeInteger(Math.trunc(balance)))
    throw new ConflictError("The balance would be too large to be exact.");
  if (balance < 0)
    throw new ConflictError(`The balance is ${card.balance}; it cannot change by ${change}.`);

  const operation: StoredOperation = {
    id: generateId("op"),
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

  setBalance(getTemplate(domain, card), card, balance);
  const actionId = recordAction(domain, cardId, action);
  const reference = { id: operation.id, type };
  const { customerId } = card;
  const data = { passId: cardId, customerId, balance, change, operation: reference };
  domain.emit("balance.changed", data, actionId);
  updateTier(domain, card, actionId);
  return toOperation(operation);
}

function updateTier(domain: Domain, card: StoredCard, actionId: string): void {
  const { id: passId, customerId, tier: previous } = card;
  card.tier = getTier(getTemplate(domain, card), getTierPoints(card));
  if (card.tier !== previous) {
    domain.emit("tier.changed", { passId, customerId, tier: card.tier, previous }, actionId);
  }
}
