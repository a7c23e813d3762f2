/** Routes for cards: search, detail, history, and what happens at the till and on the phone. */
import { addToWallet, existingCard, removeFromWallet, type StoredCard, setStatus } from "../domain/cards.ts";
import {
  cancelOperation,
  type Expiry,
  expirePoints,
  recordCorrection,
  recordPoints,
} from "../domain/ledger.ts";
import { number, object, text, truth } from "../domain/shape.ts";
import type { State } from "../domain/state.ts";
import { mentions } from "./customers.ts";
import { pageOf } from "./page.ts";
import { type ControlRoute, created, done, ok } from "./route.ts";
import { cardView, operationView } from "./views.ts";

const pointsKinds = { purchase: "purchase", reward: "reward", redeem: "redemption" } as const;

export const cardRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/cards",
    run({ world: { domain }, query }) {
      const isWanted = cardFilter(domain.state, query);
      const found = [...domain.state.cards.values()].filter(isWanted).reverse();
      return pageOf(found, query, (card) => cardView(domain, card));
    },
  },
  {
    method: "GET",
    path: "/_mock/cards/*",
    run: ({ world: { domain }, params: [id = ""] }) => ok(cardView(domain, existingCard(domain, id))),
  },
  {
    method: "GET",
    path: "/_mock/cards/*/operations",
    run({ world: { domain }, params: [id = ""], query }) {
      existingCard(domain, id);
      const { operations, operationIdsByCard } = domain.state;
      const history = (operationIdsByCard.get(id) ?? []).flatMap((name) => operations.get(name) ?? []);
      return pageOf(history.reverse(), query, operationView);
    },
  },
  ...Object.entries(pointsKinds).map(
    ([name, kind]): ControlRoute => ({
      method: "POST",
      path: `/_mock/cards/*/${name}`,
      takes: object({ points: number({ moreThan: 0 }) }, ["points"]),
      run({ world: { domain }, params: [id = ""], body }) {
        const { points } = body as { points: number };
        return recorded(domain.state, recordPoints(domain, id, kind, points).id);
      },
    }),
  ),
  {
    method: "POST",
    path: "/_mock/cards/*/correct",
    takes: object({ change: (value, pointer) => notZero(value, pointer) }, ["change"]),
    run({ world: { domain }, params: [id = ""], body }) {
      const { change } = body as { change: number };
      return recorded(domain.state, recordCorrection(domain, id, change).id);
    },
  },
  {
    method: "POST",
    path: "/_mock/cards/*/expire",
    takes: object({ points: number({ moreThan: 0 }), keepBalance: truth }, ["points"]),
    run({ world: { domain }, params: [id = ""], body }) {
      expirePoints(domain, id, body as Expiry);
      return ok(cardView(domain, existingCard(domain, id)));
    },
  },
  {
    method: "PUT",
    path: "/_mock/cards/*/status",
    takes: object({ status: text }, ["status"]),
    run({ world: { domain }, params: [id = ""], body }) {
      setStatus(domain, id, (body as { status: string }).status);
      return ok(cardView(domain, existingCard(domain, id)));
    },
  },
  {
    method: "POST",
    path: "/_mock/operations/*/cancel",
    run: ({ world: { domain }, params: [id = ""] }) => recorded(domain.state, cancelOperation(domain, id).id),
  },
  {
    method: "PUT",
    path: "/_mock/cards/*/wallets/*",
    run({ world: { domain }, params: [id = "", wallet = ""] }) {
      addToWallet(domain, id, wallet);
      return done;
    },
  },
  {
    method: "DELETE",
    path: "/_mock/cards/*/wallets/*",
    run({ world: { domain }, params: [id = "", wallet = ""] }) {
      removeFromWallet(domain, id, wallet);
      return done;
    },
  },
];

function recorded({ operations }: State, id: string) {
  const operation = operations.get(id);
  return created(operation && operationView(operation));
}

function notZero(value: unknown, pointer: string) {
  if (value === 0) return [{ pointer, detail: '"change" must be a number other than 0.' }];
  return number()(value, pointer);
}

function cardFilter({ customers }: State, query: URLSearchParams): (card: StoredCard) => boolean {
  const [customerId, templateId] = [query.get("customerId"), query.get("templateId")];
  const wanted = query.get("query") ?? "";
  const words = wanted.trim().toLowerCase();
  const says = (text: string | number) => String(text).toLowerCase().includes(words);
  return (card) => {
    if (customerId !== null && card.customerId !== customerId) return false;
    if (templateId !== null && card.templateId !== templateId) return false;
    if (words === "" || says(card.id) || Object.values(card.fieldValues).some(says)) return true;
    const customer = customers.get(card.customerId);
    return customer !== undefined && mentions(customer, wanted);
  };
}
