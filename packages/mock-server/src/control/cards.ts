/** Control routes for cards: search, detail, history, points, wallets. */
import { CorrectionInput, PointsInput } from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import { addToWallet, getCard, removeFromWallet, toCard } from "../domain/cards.ts";
import { type Domain, getById } from "../domain/context.ts";
import { cancelOperation, listOperations, recordCorrection, recordPoints } from "../domain/ledger.ts";
import type { Customer, State, StoredCard, StoredOperation } from "../domain/state.ts";
import { limitList, type Router } from "./route.ts";

const pointsKinds = { purchase: "purchase", reward: "reward", redeem: "redemption" } as const;

export function addCardRoutes({ route, routeWithBody }: Router, { domain }: Backend): void {
  const viewOperation = ({ id }: { id: string }) =>
    toOperationView(getById(domain.state.operations, id, "operation"));

  route("GET /cards", ({ query }) => {
    const text = query["query"] ?? "";
    const found = [...domain.state.cards.values()].filter((card) => matchesCard(domain.state, card, text));
    return limitList(found.reverse(), query, (card) => toCardView(domain, card));
  });
  route("GET /cards/:id", ({ id }) => toCardView(domain, getCard(domain, id)));
  route("GET /cards/:id/operations", ({ id, query }) => {
    getCard(domain, id);
    return limitList(listOperations(domain, id), query, toOperationView);
  });
  for (const [name, kind] of Object.entries(pointsKinds)) {
    routeWithBody(`POST /cards/:id/${name} 201`, PointsInput, ({ id, body }) =>
      viewOperation(recordPoints(domain, id, kind, body.points)),
    );
  }
  routeWithBody("POST /cards/:id/correct 201", CorrectionInput, ({ id, body }) =>
    viewOperation(recordCorrection(domain, id, body.change)),
  );
  route("PUT /cards/:id/wallets/:wallet", ({ id, wallet }) => addToWallet(domain, id, wallet));
  route("DELETE /cards/:id/wallets/:wallet", ({ id, wallet }) => removeFromWallet(domain, id, wallet));
  route("POST /operations/:id/cancel 201", ({ id }) => viewOperation(cancelOperation(domain, id)));
}

/** Whether the card, or the id, name, phone or email of its customer contains the search text. */
function matchesCard({ customers }: State, card: StoredCard, searchText: string): boolean {
  const words = searchText.trim().toLowerCase();
  const { id, name, phone, email } = customers.get(card.customerId) as Customer;
  const texts = [card.id, ...Object.values(card.fieldValues), id, name, email];
  return (
    texts.some((value) => value !== undefined && String(value).toLowerCase().includes(words)) ||
    (phone?.includes(words.replaceAll(/[\s()-]/g, "")) ?? false)
  );
}

function toCustomerView({ id, name, phone, email, privacyVersion, marketing, cardIds }: Customer) {
  return { id, name, phone, email, marketingConsent: marketing.isGiven, privacyVersion, cardIds };
}

function toCardView(domain: Domain, card: StoredCard) {
  const { templateId, issuedAtMs, wallets, expiredPoints } = card;
  const customer = domain.state.customers.get(card.customerId);
  return {
    ...toCard(domain, card),
    templateId,
    issuedAt: new Date(issuedAtMs).toISOString(),
    wallets,
    expiredPoints,
    customer: customer && toCustomerView(customer),
  };
}

const toOperationView = ({ cardId: _, ...operation }: StoredOperation) => operation;
