/** The operations of the API (spec 4): authentication, injected faults, then the operation itself; and the request log. */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { ConsentChange } from "@loyalty-cards/openapi/validators";
import type { Backend, State, TrafficRequest } from "../backend/backend.ts";
import { type ApiKeyKind, issuedVia, parseBearer } from "../domain/api-keys.ts";
import { type CardStore, type StoredCard, toCard } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import {
  type Customer,
  type CustomerStore,
  changeMarketingConsent,
  toConsentState,
} from "../domain/customers.ts";
import { findIssuedCard } from "../domain/idempotency.ts";
import { issueCard } from "../domain/issue-card.ts";
import { listNewestOperations } from "../domain/ledger.ts";
import { Problem, toFieldErrors } from "../domain/problem.ts";
import { addWarning } from "../domain/warnings.ts";
import { type FaultTarget, takeRequestFault } from "../faults/rules.ts";
import {
  applyFault,
  delayRequest,
  injectedFault,
  jsonResponse,
  type LoggedRequest,
  problemResponse,
  readJson,
  readText,
  type ServiceResponse,
} from "./messages.ts";
import type { RequestHandler, Route } from "./router.ts";

export interface Call {
  /** The variable segment of the path. */
  id: string;
  url: URL;
  headers: { get(name: string): string | null };
  /** The parsed body, of the operations that have one. */
  body: unknown;
  apiKeyKind: ApiKeyKind;
}

type Handler = (domain: Domain<State>, call: Call) => ServiceResponse | Problem;

const handlers: Record<OperationId, Handler> = {
  issueCard(domain, { id, headers, body, apiKeyKind }) {
    const idempotencyKey = headers.get("idempotency-key") ?? undefined;
    if (idempotencyKey !== undefined && !/^.{1,255}$/.test(idempotencyKey)) {
      return new Problem(400, "Idempotency-Key must have 1 to 255 characters, or be absent.");
    }
    const command = { templateId: id, body, idempotencyKey, issuedVia: issuedVia[apiKeyKind] };
    const { result, isReplay, warnings } = issueCard(domain, command);
    for (const warning of warnings) addWarning(domain, warning);
    if (result instanceof Problem) return { ...problemResponse(result), warnings };
    const response: ServiceResponse = jsonResponse(201, toCard(domain, result));
    response.cardId = result.id;
    response.warnings = warnings;
    if (isReplay) response.reason = "replay";
    return response;
  },
  getCard: (domain, { id }) => withCard(domain, id, (card) => jsonResponse(200, toCard(domain, card))),
  listOperations: (domain, { id, url }) =>
    withCard(domain, id, () => {
      const limit = parseLimit(url.searchParams.get("limit"));
      if (limit instanceof Problem) return limit;
      return jsonResponse(200, { items: listNewestOperations(domain, id, limit) });
    }),
  getConsent: (domain, { id }) =>
    withCard(domain, id, (card) => jsonResponse(200, toConsentState(getHolder(domain, card)))),
  setConsent: (domain, { id, body }) =>
    withCard(domain, id, (card) => {
      if (!ConsentChange(body)) return Problem.invalid(toFieldErrors(ConsentChange));
      const holder = getHolder(domain, card);
      changeMarketingConsent(domain, holder, body);
      return jsonResponse(200, toConsentState(holder));
    }),
};

const defaultLimit = 20;
const maxLimit = 100;

function parseLimit(text: string | null): number | Problem {
  if (text === null) return defaultLimit;
  if (/^0*[1-9]\d*$/.test(text)) return Math.min(Number(text), maxLimit);
  return new Problem(400, "limit must be a whole number, 1 or more.");
}

function withCard(
  domain: Domain<CardStore>,
  id: string,
  run: (card: StoredCard) => ServiceResponse | Problem,
): ServiceResponse | Problem {
  const card = domain.state.cards.get(id);
  return card === undefined ? new Problem(404, "There is no card with this id.") : run(card);
}

const getHolder = ({ state }: Domain<CustomerStore>, { customerId }: StoredCard) =>
  state.customers.get(customerId) as Customer;

export function apiRoutes(domain: Domain<State>): Route[] {
  const ids = Object.keys(operations) as OperationId[];
  const document = createDocument(domain.baseUrl);
  const inFlight = new Set<string>();
  return [
    ...ids.map((id) => apiRoute(domain, id, inFlight)),
    { method: "GET", path: "/api/docs/json", handle: () => jsonResponse(200, document) },
  ];
}

/** @param inFlight the idempotency key of each request that is being processed, so that a second one with the same key is noticed. */
function apiRoute(domain: Domain<State>, operationId: OperationId, inFlight: Set<string>): Route {
  const { method, path, hasBody } = operations[operationId];
  return {
    method,
    path: `/api/v1${path.replace(/\{\w+\}/, "*")}`,
    async handle({ request, url, params: [id = ""] }) {
      const text = hasBody ? await readText(request) : undefined;
      const logged: LoggedRequest = { operation: operationId };
      if (typeof text === "string") logged.requestBody = text.slice(0, maxLoggedLength);
      const key = parseBearer(request.headers.get("authorization"));
      const apiKey = domain.state.apiKeys.get(key ?? "");
      if (apiKey === undefined) {
        const problem = new Problem(401, "The API key is missing or unknown.");
        const reason = key === undefined ? "no API key" : "unknown key";
        return { ...problemResponse(problem), reason, logged };
      }
      logged.apiKey = apiKey.name;
      const idempotencyKey = request.headers.get("idempotency-key") ?? undefined;
      if (idempotencyKey !== undefined) logged.idempotencyKey = idempotencyKey;
      const isKeyUsed = operationId === "issueCard" && idempotencyKey !== undefined;
      const card = isKeyUsed ? findIssuedCard(domain, idempotencyKey) : undefined;
      const isFirst = isKeyUsed && !inFlight.has(idempotencyKey);
      const target: FaultTarget = {
        operation: operationId,
        method,
        path: url.pathname,
        idempotencyKey,
        isFirstInFlight: isKeyUsed && !isFirst,
        cardAgeMs: card && domain.nowMs() - card.issuedAtMs,
      };
      if (isFirst) inFlight.add(idempotencyKey);
      try {
        const before = takeRequestFault(domain, "before", target);
        if (before?.kind === "latency") await delayRequest(before.delayMs, request.signal);
        else if (before !== undefined) return { ...applyFault(before), logged };

        const body = hasBody ? await readJson(request, text) : { value: undefined };
        const response =
          body instanceof Problem
            ? problemResponse(body)
            : handlers[operationId](domain, {
                id,
                url,
                headers: request.headers,
                body: body.value,
                apiKeyKind: apiKey.kind,
              });
        if (response instanceof Problem) return { ...problemResponse(response), logged };
        response.logged = logged;
        if (response.status >= 400) return response; // nothing was committed

        const after = takeRequestFault(domain, "after-commit", target);
        if (after?.kind === "latency") await delayRequest(after.delayMs, request.signal);
        else if (after !== undefined) {
          const { cardId, warnings = [] } = response;
          return { ...applyFault(after, response), cardId, warnings, logged };
        }
        const isDelayed = before !== undefined || after !== undefined;
        return isDelayed ? { reason: `${injectedFault}: latency`, ...response } : response;
      } finally {
        if (isFirst) inFlight.delete(idempotencyKey);
      }
    },
  };
}

export function createDocument(baseUrl: string): unknown {
  return { ...openapi, servers: [{ url: `${baseUrl}/api/v1`, description: "This mock server." }] };
}

const maxRequests = 200;
const maxPathLength = 2_000;
/** Of a body, in characters. */
const maxLoggedLength = 65_536;

/** Adds each request to the log. */
export function withRequestLog(
  { domain, requests, changes, ids }: Backend,
  handle: RequestHandler,
): RequestHandler {
  const prefix = `${new URL(domain.baseUrl).pathname.replace(/\/$/, "")}/api/v1/`;
  return async (request) => {
    const { method, url } = request;
    const path = url.pathname;
    if (!path.startsWith(prefix)) return handle(request);
    const startedMs = performance.now();
    const [id, at] = [ids.nextRequestId(), new Date(domain.nowMs()).toISOString()];
    const response = await handle(request);
    const { status, connectionFault, reason, body, warnings = [] } = response;
    const cardId = response.cardId ?? findNamedCard(domain, path.slice(prefix.length));
    const entry: { -readonly [Name in keyof TrafficRequest]: TrafficRequest[Name] } = {
      kind: "request",
      id,
      at,
      ...response.logged,
      method,
      path: (path + url.search).slice(0, maxPathLength),
      durationMs: Math.round(performance.now() - startedMs),
      warnings: [...warnings],
    };
    if (connectionFault === undefined) {
      entry.status = status;
      if (typeof body === "string") entry.responseBody = body.slice(0, maxLoggedLength);
    }
    if (reason !== undefined) entry.reason = reason;
    if (cardId !== undefined) entry.cardId = cardId;
    requests.push(entry);
    if (requests.length > maxRequests) requests.shift();
    changes.notify({ type: "request", id: entry.id, action: "created" });
    return response;
  };
}

function findNamedCard({ state }: Domain<CardStore>, path: string): string | undefined {
  const [collection, id = ""] = path.split("/");
  return collection === "passes" && state.cards.has(id) ? id : undefined;
}

/** Whether the method, path, status, reason or card of a request contains the search text. */
export function matchesRequest(
  { method, path, status, reason, cardId }: TrafficRequest,
  searchText: string,
): boolean {
  const line = [method, path, status, reason, cardId].join(" ");
  return line.toLowerCase().includes(searchText.trim().toLowerCase());
}

/** A request failed when its status is an error, or when an injected fault broke the connection. */
export const hasFailed = ({ status }: TrafficRequest): boolean => status === undefined || status >= 400;
