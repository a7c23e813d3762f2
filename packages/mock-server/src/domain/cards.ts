/** Cards: create, convert for the API, add to wallets (spec 2.1). */

import type { components } from "@loyalty-cards/openapi";
import { type Domain, type DomainContext, NotFoundError } from "./context.ts";
import type { Customer } from "./customers.ts";
import type { FieldValues, Template } from "./templates.ts";

/** A card, as in responses of the API. */
export type Card = components["schemas"]["Card"];

/** A card, as the service stores it. */
export interface StoredCard {
  id: string;
  /** Identifies the public page, so that its address does not contain the id. */
  slug: string;
  templateId: string;
  customerId: string;
  balance: number;
  /** Points of the balance that no longer count for the level; absent when there are none. */
  expiredPoints?: number;
  tier: string | null;
  issuedVia: string;
  /** Absent on an active card. */
  status?: string;
  fieldValues: FieldValues;
  wallets: string[];
  issuedAtMs: number;
  /** The hash of the request that it was issued for, if that had an idempotency key. */
  contentHash?: number;
}

export interface CardStore {
  cards: Map<string, StoredCard>;
  cardIdBySlug: Map<string, string>;
}

/** A template field with this key and type `number` shows the balance. */
const pointsKey = "points";

/** @param fieldValues values that the caller does not change later. */
export function createCard(
  { state, generateId, nowMs, notifyChange }: Domain<CardStore>,
  template: Template,
  customer: Customer,
  fieldValues: FieldValues,
  issuedVia: string,
): StoredCard {
  const card: StoredCard = {
    id: generateId("card"),
    slug: generateId("c").slice(2),
    templateId: template.id,
    customerId: customer.id,
    balance: 0, // spec 2.1
    tier: null, // spec 2.1
    issuedVia,
    fieldValues,
    wallets: [],
    issuedAtMs: nowMs(),
  };
  if (hasPointsField(template)) card.fieldValues[pointsKey] = 0;
  state.cards.set(card.id, card);
  state.cardIdBySlug.set(card.slug, card.id);
  customer.cardIds.push(card.id);
  notifyChange({ type: "card", id: card.id, action: "created" });
  return card;
}

export function setBalance(template: Template, card: StoredCard, balance: number): void {
  card.balance = balance;
  if (card.expiredPoints !== undefined) card.expiredPoints = Math.min(card.expiredPoints, balance);
  if (hasPointsField(template)) card.fieldValues[pointsKey] = balance;
}

/** The points that determine the level. */
export const getLevelPoints = ({ balance, expiredPoints = 0 }: StoredCard) =>
  roundPoints(balance - expiredPoints);

/** Rounds to millionths, so that 0.1 + 0.2 points are 0.3. */
export const roundPoints = (points: number) => Math.round(points * 1e6) / 1e6;

/** Whether the service changes the value of a field itself: it then differs from the value of the request. */
export const isMaintained = (template: Template, key: string) =>
  key === pointsKey && hasPointsField(template);

const hasPointsField = ({ fields }: Template) =>
  fields.some(({ key, type }) => key === pointsKey && type === "number");

export function toCard({ baseUrl }: DomainContext, card: StoredCard): Card {
  return {
    id: card.id,
    publicUrl: `${baseUrl}/cards/${card.slug}`,
    status: card.status ?? "active",
    customerId: card.customerId,
    loyaltyBalance: card.balance,
    loyaltyTier: card.tier,
    issuedVia: card.issuedVia,
    fieldValues: { ...card.fieldValues },
  };
}

/** @throws {RangeError} for an unknown card. */
export function getCard({ state }: Domain<CardStore>, cardId: string): StoredCard {
  const card = state.cards.get(cardId);
  if (card === undefined) throw new NotFoundError(`There is no card "${cardId}".`);
  return card;
}

/**
 * Emits no event, because the specification has none for it ([spec 3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-1)).
 * @throws {RangeError} for an unknown card.
 */
export function setStatus(domain: Domain<CardStore>, cardId: string, status: string): Card {
  const card = getCard(domain, cardId);
  if (typeof status !== "string" || status.trim() === "") {
    throw new TypeError('status must be a text that is not blank, such as "blocked".');
  }
  card.status = status;
  domain.notifyChange({ type: "card", id: cardId, action: "changed" });
  return toCard(domain, card);
}

/** Emits `card.added`. @throws {RangeError} for an unknown card or wallet, or a card that is already in it. */
export function addToWallet(domain: Domain<CardStore>, cardId: string, wallet: string): void {
  const card = getCard(domain, cardId);
  requireKnownWallet(domain, wallet);
  if (card.wallets.includes(wallet)) throw new RangeError(`The card is already in the ${wallet} wallet.`);
  card.wallets.push(wallet);
  domain.notifyChange({ type: "card", id: card.id, action: "changed" });
  domain.emit("card.added", { passId: card.id, customerId: card.customerId, wallet });
}

/** Emits `card.removed`. @throws {RangeError} for an unknown card or wallet, or a card that is not in it. */
export function removeFromWallet(domain: Domain<CardStore>, cardId: string, wallet: string): void {
  const card = getCard(domain, cardId);
  requireKnownWallet(domain, wallet);
  if (!card.wallets.includes(wallet)) throw new RangeError(`The card is not in the ${wallet} wallet.`);
  card.wallets = card.wallets.filter((name) => name !== wallet);
  domain.notifyChange({ type: "card", id: card.id, action: "changed" });
  domain.emit("card.removed", { passId: card.id, customerId: card.customerId, wallet });
}

function requireKnownWallet({ wallets }: DomainContext, wallet: string): void {
  const known = [wallets.first, wallets.second];
  if (!known.includes(wallet))
    throw new NotFoundError(`There is no wallet "${wallet}"; there are ${known.join(" and ")}.`);
}
