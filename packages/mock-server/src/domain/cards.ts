/** Cards: create, convert for the API, add to wallets (spec 2.1), record what was done to them. */
import type { components } from "@loyalty-cards/openapi";
import { type Domain, getById } from "./context.ts";
import { ConflictError, InputError, NotFoundError } from "./errors.ts";
import { generateId } from "./ids.ts";
import {
  type Action,
  addRecent,
  type Customer,
  type FieldValues,
  type StoredCard,
  type Template,
} from "./state.ts";

/** A card, as in responses of the API. */
export type Card = components["schemas"]["Card"];

/** A template field with this key and type `number` shows the balance. */
const pointsKey = "points";

interface NewCard {
  template: Template;
  customer: Customer;
  /** Values that the caller does not change later. */
  fieldValues: FieldValues;
  issuedVia: string;
}

export function createCard(
  { state, nowMs, notifyChange }: Domain,
  { template, customer, fieldValues, issuedVia }: NewCard,
): StoredCard {
  const card: StoredCard = {
    id: generateId("card"),
    slug: generateId("c").slice(2),
    templateId: template.id,
    customerId: customer.id,
    balance: 0, // spec 2.1
    expiredPoints: 0,
    tier: null, // spec 2.1
    issuedVia,
    status: "active", // spec 2.1
    fieldValues,
    wallets: [],
    issuedAtMs: nowMs(),
  };
  if (hasPointsField(template)) card.fieldValues[pointsKey] = 0;
  state.cards.set(card.id, card);
  state.cardIdBySlug.set(card.slug, card.id);
  customer.cardIds.push(card.id);
  notifyChange();
  return card;
}

export function setBalance(template: Template, card: StoredCard, balance: number): void {
  card.balance = balance;
  card.expiredPoints = Math.min(card.expiredPoints, balance);
  if (hasPointsField(template)) card.fieldValues[pointsKey] = balance;
}

/** The points that determine the tier. */
export const getTierPoints = ({ balance, expiredPoints }: StoredCard) =>
  roundPoints(balance - expiredPoints);

/** Rounds to millionths, so that 0.1 + 0.2 points are 0.3. */
export const roundPoints = (points: number) => Math.round(points * 1e6) / 1e6;

/**
 * Whether the service changes the value of a field itself: it then differs from the value of the
 * request.
 */
export const isMaintained = (template: Template, key: string) =>
  key === pointsKey && hasPointsField(template);

const hasPointsField = ({ fields }: Template) =>
  fields.some(({ key, type }) => key === pointsKey && type === "number");

export function toCard({ baseUrl }: Domain, card: StoredCard): Card {
  return {
    id: card.id,
    publicUrl: `${baseUrl}/cards/${card.slug}`,
    status: card.status,
    customerId: card.customerId,
    loyaltyBalance: card.balance,
    loyaltyTier: card.tier,
    issuedVia: card.issuedVia,
    fieldValues: { ...card.fieldValues },
  };
}

/** The name on the card, or else that of the customer. */
export function getHolderName({ state }: Domain, card: StoredCard): string | undefined {
  const { fields } = state.templates.get(card.templateId) as Template;
  const nameKey = fields.find(({ type }) => type === "name")?.key ?? "";
  const nameOnCard = Object.hasOwn(card.fieldValues, nameKey) ? card.fieldValues[nameKey] : "";
  return String(nameOnCard) || state.customers.get(card.customerId)?.name;
}

/** @throws {RangeError} for an unknown card. */
export const getCard = ({ state }: Domain, cardId: string): StoredCard =>
  getById(state.cards, cardId, "card");

/**
 * Emits no event, because the specification has none for it ([spec
 * 3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-1)).
 * @throws {RangeError} for an unknown card.
 */
export function setStatus(domain: Domain, cardId: string, status: string): Card {
  const card = getCard(domain, cardId);
  if (typeof status !== "string" || status.trim() === "")
    throw new InputError('status must be a text that is not blank, such as "blocked".');
  card.status = status;
  recordAction(domain, cardId, { type: "status", status });
  domain.notifyChange();
  return toCard(domain, card);
}

/**
 * Emits `card.added`.
 * @throws {RangeError} for an unknown card or wallet, or a card that is already in it.
 */
export function addToWallet(domain: Domain, cardId: string, wallet: string): void {
  const card = requireWallet(domain, cardId, wallet);
  if (card.wallets.includes(wallet))
    throw new ConflictError(`The card is already in the ${wallet} wallet.`);
  card.wallets.push(wallet);
  const actionId = recordAction(domain, cardId, { type: "wallet", wallet, isAdded: true });
  const data = { passId: card.id, customerId: card.customerId, wallet };
  domain.emit("card.added", data, actionId);
}

/**
 * Emits `card.removed`.
 * @throws {RangeError} for an unknown card or wallet, or a card that is not in it.
 */
export function removeFromWallet(domain: Domain, cardId: string, wallet: string): void {
  const card = requireWallet(domain, cardId, wallet);
  if (!card.wallets.includes(wallet))
    throw new ConflictError(`The card is not in the ${wallet} wallet.`);
  card.wallets = card.wallets.filter((name) => name !== wallet);
  const actionId = recordAction(domain, cardId, { type: "wallet", wallet, isAdded: false });
  const data = { passId: card.id, customerId: card.customerId, wallet };
  domain.emit("card.removed", data, actionId);
}

/** @returns the card. */
function requireWallet(domain: Domain, cardId: string, wallet: string): StoredCard {
  const known = [domain.wallets.first, domain.wallets.second];
  if (!known.includes(wallet))
    throw new NotFoundError(`There is no wallet "${wallet}"; there are ${known.join(" and ")}.`);
  return getCard(domain, cardId);
}

/** What was done to a card, except by requests to the API. */
export type ActionDetails = Pick<
  Action,
  "type" | "change" | "keepsBalance" | "wallet" | "isAdded" | "status"
>;

/**
 * Records an action, before the events that it causes.
 * @returns its id.
 */
export function recordAction(
  { state, nowMs, ids }: Domain,
  cardId: string,
  details: ActionDetails,
): string {
  const id = ids.nextActionId();
  const at = new Date(nowMs()).toISOString();
  addRecent(state.recentActions, { kind: "action", id, at, cardId, ...details });
  return id;
}
