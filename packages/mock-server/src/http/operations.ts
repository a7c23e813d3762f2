/** The five operations of the API (spec 4), by the names the document gives them. */
import type { operations as Contract } from "@loyalty-cards/openapi";
import { ConsentChange } from "@loyalty-cards/openapi/validators";
import { type ApiKeyKind, issuedVia } from "../domain/api-keys.ts";
import { type CardStore, cardOf, type StoredCard } from "../domain/cards.ts";
import { changeMarketingConsent, consentOf } from "../domain/consents.ts";
import type { Customer, CustomerStore } from "../domain/customers.ts";
import { issueCard } from "../domain/issue-card.ts";
import { newestOperations } from "../domain/ledger.ts";
import { Problem } from "../domain/problem.ts";
import { faultsOf } from "../domain/request-faults.ts";
import type { State } from "../domain/state.ts";
import type { Domain } from "../domain/surroundings.ts";
import type { Reply } from "./reply.ts";

export type OperationId = Exclude<keyof Contract, `on${string}`>;

export interface Call {
  /** The variable segment of the path. */
  id: string;
  query: URLSearchParams;
  headers: { get(name: string): string | null };
  /** The parsed body, of the operations that have one. */
  body: unknown;
  apiKeyKind: ApiKeyKind;
}

interface Operation {
  method: "GET" | "POST" | "PUT";
  /** The path below /api/v1; `*` is the variable segment. */
  path: string;
  hasBody: boolean;
  run(domain: Domain<State>, call: Call): Reply | Problem;
}

export const operations = {
  issueCard: {
    method: "POST",
    path: "/templates/*/passes",
    hasBody: true,
    run(domain, { id, headers, body, apiKeyKind }) {
      const idempotencyKey = headers.get("idempotency-key") ?? undefined;
      if (idempotencyKey !== undefined && !/^.{1,255}$/.test(idempotencyKey)) {
        return new Problem(400, "Idempotency-Key must have 1 to 255 characters, or be absent.");
      }
      const command = { templateId: id, body, idempotencyKey, issuedVia: issuedVia[apiKeyKind] };
      const card = issueCard(domain, command);
      return card instanceof Problem ? card : { status: 201, body: cardOf(domain, card) };
    },
  },
  getCard: {
    method: "GET",
    path: "/passes/*",
    hasBody: false,
    run: (domain, { id }) => withCard(domain, id, (card) => ({ status: 200, body: cardOf(domain, card) })),
  },
  listOperations: {
    method: "GET",
    path: "/passes/*/operations",
    hasBody: false,
    run: (domain, { id, query }) =>
      withCard(domain, id, () => {
        const limit = limitOf(query.get("limit"));
        if (limit instanceof Problem) return limit;
        return { status: 200, body: { items: newestOperations(domain, id, limit) } };
      }),
  },
  getConsent: {
    method: "GET",
    path: "/passes/*/consent",
    hasBody: false,
    run: (domain, { id }) =>
      withCard(domain, id, (card) => ({ status: 200, body: consentOf(holderOf(domain, card)) })),
  },
  setConsent: {
    method: "PUT",
    path: "/passes/*/consent",
    hasBody: true,
    run: (domain, { id, body }) =>
      withCard(domain, id, (card) => {
        if (!ConsentChange(body)) return Problem.invalid(faultsOf(ConsentChange));
        const holder = holderOf(domain, card);
        changeMarketingConsent(domain, holder, body);
        return { status: 200, body: consentOf(holder) };
      }),
  },
} satisfies Record<OperationId, Operation>;

const defaultLimit = 20;
const maxLimit = 100;

function limitOf(text: string | null): number | Problem {
  if (text === null) return defaultLimit;
  if (/^0*[1-9]\d*$/.test(text)) return Math.min(Number(text), maxLimit);
  return new Problem(400, "limit must be a whole number, 1 or more.");
}

function withCard(
  domain: Domain<CardStore>,
  id: string,
  run: (card: StoredCard) => Reply | Problem,
): Reply | Problem {
  const card = domain.state.cards.get(id);
  return card === undefined ? new Problem(404, "There is no card with this id.") : run(card);
}

const holderOf = ({ state }: Domain<CustomerStore>, { customerId }: StoredCard) =>
  state.customers.get(customerId) as Customer;
