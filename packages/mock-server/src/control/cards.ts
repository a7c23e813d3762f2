/** Control routes for cards and customers: search, detail, history, points, wallets. */
import { CorrectionInput, Expiry, PointsInput, StatusInput } from "@loyalty-cards/openapi/control-validators";
import type { State } from "../backend/backend.ts";
import {
  addToWallet,
  getCard,
  removeFromWallet,
  type StoredCard,
  setStatus,
  toCard,
} from "../domain/cards.ts";
import { type Domain, NotFoundError } from "../domain/context.ts";
import type { Customer } from "../domain/customers.ts";
import {
  cancelOperation,
  expirePoints,
  recordCorrection,
  recordPoints,
  type StoredOperation,
  toOperation,
} from "../domain/ledger.ts";
import { created, ok, paginate, route } from "./route.ts";

const pointsKinds = { purchase: "purchase", reward: "reward", redeem: "redemption" } as const;

export const cardRoutes = [
  route("GET /_mock/cards", ({ domain, query }) => {
    const found = [...domain.state.cards.values()].filter(createCardFilter(domain.state, query)).reverse();
    return paginate(found, query, (card) => toCardView(domain, card));
  }),
  route("GET /_mock/cards/*", ({ domain, id }) => ok(toCardView(domain, getCard(domain, id)))),
  route("GET /_mock/cards/*/operations", ({ domain, id, query }) => {
    getCard(domain, id);
    const { operations, operationIdsByCard } = domain.state;
    const history = (operationIdsByCard.get(id) ?? []).flatMap((name) => operations.get(name) ?? []);
    return paginate(history.reverse(), query, toOperationView);
  }),
  ...Object.entries(pointsKinds).map(([name, kind]) =>
    route(
      `POST /_mock/cards/*/${name}`,
      ({ domain, id, body }) =>
        operationResponse(domain.state, recordPoints(domain, id, kind, body.points).id),
      PointsInput,
    ),
  ),
  route(
    "POST /_mock/cards/*/correct",
    ({ domain, id, body }) => operationResponse(domain.state, recordCorrection(domain, id, body.change).id),
    CorrectionInput,
  ),
  route(
    "POST /_mock/cards/*/expire",
    ({ domain, id, body }) => {
      expirePoints(domain, id, body);
      return ok(toCardView(domain, getCard(domain, id)));
    },
    Expiry,
  ),
  route(
    "PUT /_mock/cards/*/status",
    ({ domain, id, body }) => {
      setStatus(domain, id, body.status);
      return ok(toCardView(domain, getCard(domain, id)));
    },
    StatusInput,
  ),
  route("POST /_mock/operations/*/cancel", ({ domain, id }) =>
    operationResponse(domain.state, cancelOperation(domain, id).id),
  ),
  route("PUT /_mock/cards/*/wallets/*", ({ domain, id, secondId }) => addToWallet(domain, id, secondId)),
  route("DELETE /_mock/cards/*/wallets/*", ({ domain, id, secondId }) =>
    removeFromWallet(domain, id, secondId),
  ),
];

function operationResponse({ operations }: State, id: string) {
  const operation = operations.get(id);
  return created(operation && toOperationView(operation));
}

function createCardFilter({ customers }: State, query: URLSearchParams): (card: StoredCard) => boolean {
  const [customerId, templateId] = [query.get("customerId"), query.get("templateId")];
  const searchText = query.get("query") ?? "";
  const words = searchText.trim().toLowerCase();
  const contains = (text: string | number) => String(text).toLowerCase().includes(words);
  return (card) => {
    if (customerId !== null && card.customerId !== customerId) return false;
    if (templateId !== null && card.templateId !== templateId) return false;
    if (words === "" || contains(card.id) || Object.values(card.fieldValues).some(contains)) return true;
    const customer = customers.get(card.customerId);
    return customer !== undefined && matchesCustomer(customer, searchText);
  };
}

export const customerRoutes = [
  route("GET /_mock/customers", ({ domain, query }) => {
    const searchText = query.get("query") ?? "";
    const customers = [...domain.state.customers.values()];
    const found = customers.filter((customer) => matchesCustomer(customer, searchText));
    return paginate(found.reverse(), query, toCustomerView);
  }),
  route("GET /_mock/customers/*", ({ domain, id }) => {
    const customer = domain.state.customers.get(id);
    if (customer === undefined) throw new NotFoundError(`There is no customer "${id}".`);
    return ok(toCustomerView(customer));
  }),
];

/** Whether the id, name, phone or email of a customer contains the search text. */
export function matchesCustomer({ id, name, phone, email }: Customer, searchText: string): boolean {
  const words = searchText.trim().toLowerCase();
  if (words === "") return true;
  const digits = words.replaceAll(/[\s()-]/g, "");
  return (
    [id, name, email].some((value) => value?.toLowerCase().includes(words)) ||
    (phone?.includes(digits) ?? false)
  );
}

export function toCustomerView({ id, name, phone, email, privacyVersion, marketing, cardIds }: Customer) {
  return { id, name, phone, email, marketingConsent: marketing.isGiven, privacyVersion, cardIds };
}

export function toCardView(domain: Domain<State>, card: StoredCard) {
  const customer = domain.state.customers.get(card.customerId);
  return {
    ...toCard(domain, card),
    templateId: card.templateId,
    issuedAt: new Date(card.issuedAtMs).toISOString(),
    wallets: card.wallets,
    expiredPoints: card.expiredPoints ?? 0,
    customer: customer && toCustomerView(customer),
  };
}

export function toOperationView(operation: StoredOperation) {
  return { ...toOperation(operation), isCancelled: operation.isCancelled };
}
