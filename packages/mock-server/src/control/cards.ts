/** Control routes for cards: search, detail, history, points, wallets. */
import { isCorrectionInput, isPointsInput } from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import {
  addToWallet,
  getCard,
  getHolderName,
  getTierPoints,
  removeFromWallet,
  toCard,
} from "../domain/cards.ts";
import { type Domain, getById } from "../domain/context.ts";
import {
  cancelOperation,
  listOperations,
  recordCorrection,
  recordPoints,
} from "../domain/ledger.ts";
import type { Customer, StoredCard, StoredOperation } from "../domain/state.ts";
import { getNextTier, getTemplate } from "../domain/templates.ts";
import type { Router } from "./route.ts";
import { compareMatches, findWords, type Match, toWords } from "./search.ts";

/** The type of the operation that a route records. */
const typeByRoute = { purchase: "purchase", reward: "reward", redeem: "redemption" } as const;

export function addCardRoutes(router: Router, { domain }: Backend): void {
  const { route, routeWithBody, routeList } = router;
  /** Looks it up, because the ledger returns an operation without what only the console shows. */
  const viewOperation = ({ id }: { id: string }) =>
    toOperationView(getById(domain.state.operations, id, "operation"));

  routeList(
    "GET /cards",
    ({ query }) =>
      findCards(domain, query["query"] ?? "")
        .reverse()
        .sort(compareMatches),
    ({ card, match }) => ({ ...toControlCard(domain, card), ...match }),
  );
  route("GET /cards/:id", ({ id }) => toControlCard(domain, getCard(domain, id)));
  routeList(
    "GET /cards/:id/operations",
    ({ id }) => listOperations(domain, getCard(domain, id).id),
    toOperationView,
  );
  for (const [name, type] of Object.entries(typeByRoute)) {
    routeWithBody(
      `POST /cards/:id/${name}`,
      isPointsInput,
      ({ id, body }) => viewOperation(recordPoints(domain, id, { type, points: body.points })),
      201,
    );
  }
  routeWithBody(
    "POST /cards/:id/correct",
    isCorrectionInput,
    ({ id, body }) => viewOperation(recordCorrection(domain, id, body.change)),
    201,
  );
  route("PUT /cards/:id/wallets/:wallet", ({ id, wallet }) => addToWallet(domain, id, wallet));
  route("DELETE /cards/:id/wallets/:wallet", ({ id, wallet }) =>
    removeFromWallet(domain, id, wallet),
  );
  route("POST /operations/:id/cancel", ({ id }) => viewOperation(cancelOperation(domain, id)), 201);
}

function findCards(domain: Domain, text: string): { card: StoredCard; match: Match }[] {
  const words = toWords(text);
  // In a phone number punctuation only separates digits; in a name or an id it belongs to the word.
  const wordsOfPhone = toWords(text.replaceAll(/[()-]/g, ""));
  return [...domain.state.cards.values()].flatMap((card) => {
    const customer = domain.state.customers.get(card.customerId) as Customer;
    const { id, name, phone, email } = customer;
    const texts = {
      shown: [getHolderName(domain, card), phone ?? email],
      ids: [card.id, id],
      hidden: { name, email, ...card.fieldValues },
    };
    const match = findWords(words, texts) ?? findWords(wordsOfPhone, texts);
    return match === undefined ? [] : [{ card, match }];
  });
}

function toCustomerView({ id, name, phone, email, privacyVersion, marketing, cardIds }: Customer) {
  return {
    id,
    name,
    phone,
    email,
    marketingConsent: marketing.isGiven,
    isMarketingWithdrawn: marketing.isWithdrawn ?? false,
    privacyVersion,
    cardIds,
  };
}

function toControlCard(domain: Domain, card: StoredCard) {
  const { templateId, issuedAtMs, wallets, expiredPoints } = card;
  const customer = domain.state.customers.get(card.customerId);
  return {
    ...toCard(domain, card),
    holder: getHolderName(domain, card) ?? customer?.phone ?? customer?.email,
    templateId,
    issuedAt: new Date(issuedAtMs).toISOString(),
    wallets,
    expiredPoints,
    nextTier: getNextTier(getTemplate(domain, card), getTierPoints(card)),
    customer: customer && toCustomerView(customer),
  };
}

const toOperationView = ({ cardId: _, ...operation }: StoredOperation) => operation;
