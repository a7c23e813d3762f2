/** What the service does with a request to the API (spec 4), after the middleware of `api`. */
import type { OperationId } from "@loyalty-cards/openapi/operations";
import { isConsentChange } from "@loyalty-cards/openapi/validators";
import { issuedVia } from "../domain/api-keys.ts";
import { toCard } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import { changeMarketingConsent, toConsentState } from "../domain/customers.ts";
import { issueCard } from "../domain/issue-card.ts";
import { listOperations, toOperation } from "../domain/ledger.ts";
import { createProblem, createValidationProblem, toFieldErrors } from "../domain/problem.ts";
import type { Customer, StoredCard } from "../domain/state.ts";
import type { ApiContext } from "./app.ts";
import { jsonReply, problemReply, type Reply } from "./reply.ts";
import { parseLimit } from "./request.ts";

type Handler = (domain: Domain, context: ApiContext) => Reply;

export const handlers: Record<OperationId, Handler> = {
  issueCard(domain, context) {
    const { entry, apiKeyKind, body } = context.var;
    const { result, isReplay, warnings } = issueCard(domain, {
      requestId: entry.id,
      templateId: getId(context),
      body,
      idempotencyKey: entry.idempotencyKey,
      issuedVia: issuedVia[apiKeyKind],
    });
    if (warnings !== undefined) entry.warnings = warnings;
    if (result.failure !== undefined) return problemReply(result.failure);
    entry.cardId = result.value.id;
    const reply = jsonReply(201, toCard(domain, result.value));
    return isReplay ? { ...reply, reason: "replay" } : reply;
  },

  getCard(domain, context) {
    const card = findCard(domain, context);
    return card === undefined ? noCard : jsonReply(200, toCard(domain, card));
  },

  listOperations(domain, context) {
    const card = findCard(domain, context);
    if (card === undefined) return noCard;
    const limit = parseLimit(context.req.query("limit"));
    if (limit.failure !== undefined) return problemReply(limit.failure);
    const newest = listOperations(domain, card.id).slice(0, limit.value);
    return jsonReply(200, { items: newest.map(toOperation) });
  },

  getConsent(domain, context) {
    const card = findCard(domain, context);
    return card === undefined ? noCard : jsonReply(200, toConsentState(getHolder(domain, card)));
  },

  setConsent(domain, context) {
    const card = findCard(domain, context);
    if (card === undefined) return noCard;
    const { entry, body } = context.var;
    if (!isConsentChange(body))
      return problemReply(createValidationProblem(toFieldErrors(isConsentChange)));
    const holder = getHolder(domain, card);
    changeMarketingConsent(domain, holder, body, entry.id);
    return jsonReply(200, toConsentState(holder));
  },
};

const noCard = problemReply(createProblem(404, "There is no card with this id."));

/** The variable segment of the path. */
const getId = ({ req }: ApiContext) => req.param("id") ?? "";

const findCard = ({ state }: Domain, context: ApiContext) => state.cards.get(getId(context));

/** Customers are never removed. */
const getHolder = ({ state }: Domain, { customerId }: StoredCard) =>
  state.customers.get(customerId) as Customer;
