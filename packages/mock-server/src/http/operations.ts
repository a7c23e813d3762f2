/** The operations of the API (spec 4): authentication, injected faults, then the operation itself; and the log of the requests. */
import { toPrintable } from "@loyalty-cards/internal/format";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { ConsentChange } from "@loyalty-cards/openapi/validators";
import type { Backend, TrafficRequest } from "../backend/backend.ts";
import { issuedVia, parseBearer } from "../domain/api-keys.ts";
import { toCard } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import { changeMarketingConsent, toConsentState } from "../domain/customers.ts";
import { findResult } from "../domain/idempotency.ts";
import { issueCard } from "../domain/issue-card.ts";
import { listNewestOperations } from "../domain/ledger.ts";
import { Problem, toFieldErrors } from "../domain/problem.ts";
import type { ApiKeyKind, Customer, StoredCard } from "../domain/state.ts";
import type { RequestWarning } from "../domain/warnings.ts";
import { takeRequestFault } from "../faults/rules.ts";
import { type App, createNotFound, toProblem } from "./app.ts";
import {
  applyFault,
  type Call,
  jsonReply,
  parseJson,
  problemReply,
  type Reply,
  readText,
  send,
} from "./reply.ts";

/** A reply, and what the log of the requests has of it. */
interface Outcome {
  reply: Reply;
  reason?: string;
  cardId?: string;
  warnings?: RequestWarning[];
}

interface OperationInput {
  /** The variable segment of the path. */
  id: string;
  /** In the query. */
  limit: string | undefined;
  /** The parsed body, of the operations that have one. */
  body: unknown;
  idempotencyKey: string | undefined;
  apiKeyKind: ApiKeyKind;
}

const handlers: Record<OperationId, (domain: Domain, input: OperationInput) => Outcome> = {
  issueCard(domain, { id, body, idempotencyKey, apiKeyKind }) {
    if (idempotencyKey !== undefined && !/^.{1,255}$/.test(idempotencyKey)) {
      throw new Problem(400, "Idempotency-Key must have 1 to 255 characters, or be absent.");
    }
    const command = { templateId: id, body, idempotencyKey, issuedVia: issuedVia[apiKeyKind] };
    const { result, isReplay, warnings = [] } = issueCard(domain, command);
    if (result instanceof Problem) return { ...toOutcome(result), warnings };
    const reply = jsonReply(201, toCard(domain, result));
    return { reply, cardId: result.id, warnings, ...(isReplay && { reason: "replay" }) };
  },
  getCard: (domain, { id }) => ok(toCard(domain, findCard(domain, id))),
  listOperations(domain, { id, limit }) {
    findCard(domain, id);
    return ok({ items: listNewestOperations(domain, id, parseLimit(limit)) });
  },
  getConsent: (domain, { id }) => ok(toConsentState(findHolder(domain, id))),
  setConsent(domain, { id, body }) {
    const holder = findHolder(domain, id);
    if (!ConsentChange(body)) throw Problem.invalid(toFieldErrors(ConsentChange));
    changeMarketingConsent(domain, holder, body);
    return ok(toConsentState(holder));
  },
};

const ok = (value: unknown): Outcome => ({ reply: jsonReply(200, value) });

function findCard({ state }: Domain, id: string): StoredCard {
  const card = state.cards.get(id);
  if (card === undefined) throw new Problem(404, "There is no card with this id.");
  return card;
}

const findHolder = (domain: Domain, id: string) =>
  domain.state.customers.get(findCard(domain, id).customerId) as Customer; // customers are never removed

const defaultLimit = 20;
const maxLimit = 100;

function parseLimit(text: string | undefined): number {
  if (text === undefined) return defaultLimit;
  if (/^0*[1-9]\d*$/.test(text)) return Math.min(Number(text), maxLimit);
  throw new Problem(400, "limit must be a whole number, 1 or more.");
}

export function addOperations(app: App, backend: Backend): void {
  const { domain } = backend;
  /** The idempotency keys of the requests that are being processed, so that a second one with the same key is noticed. */
  const inFlight = new Set<string>();
  for (const [operation, { method, path }] of Object.entries(operations)) {
    app.on(method, `/api/v1${path.replace(/\{\w+\}/, ":id")}`, async (c) => {
      const request = startRequest(backend, c, operation as OperationId);
      const outcome = await perform(domain, c, request, inFlight).catch(toOutcome);
      logRequest(backend, request, outcome);
      return send(c, outcome.reply);
    });
  }
  const servers = [{ url: `${domain.baseUrl}/api/v1`, description: "This mock server." }];
  // On a port, /api/docs is the interactive reference.
  app.on("GET", ["/api/docs", "/api/docs/json"], (c) => send(c, jsonReply(200, { ...openapi, servers })));
  app.notFound((c) => {
    const reply = createNotFound(app, c);
    const { method, path } = c.req;
    const reason = toReason(`There is no ${method} ${path}`);
    if (!path.startsWith("/_mock")) logRequest(backend, startRequest(backend, c), { reply, reason });
    return send(c, reply);
  });
}

/** What the log has of a request before its outcome. */
interface StartedRequest {
  id: string;
  at: string;
  startedMs: number;
  operation: OperationId | undefined;
  method: string;
  path: string;
  apiKey: string | undefined;
  idempotencyKey: string | undefined;
  requestBody: string | undefined;
}

/** @throws {Problem} */
async function perform(
  domain: Domain,
  c: Call,
  request: StartedRequest,
  inFlight: Set<string>,
): Promise<Outcome> {
  const operation = request.operation as OperationId;
  const { req } = c;
  const { method, hasBody } = operations[operation];
  const text = hasBody ? await readText(c) : undefined;
  request.requestBody = text?.slice(0, maxLoggedLength);
  const key = parseBearer(req.header("authorization"));
  const apiKey = domain.state.apiKeys.get(key ?? "");
  if (apiKey === undefined) {
    const problem = new Problem(401, "The API key is missing or unknown.");
    return { reply: problemReply(problem), reason: key === undefined ? "no API key" : "unknown key" };
  }
  request.apiKey = apiKey.name;
  const idempotencyKey = req.header("idempotency-key");
  request.idempotencyKey = idempotencyKey;
  const issuingKey = operation === "issueCard" ? idempotencyKey : undefined;
  const stored = issuingKey === undefined ? undefined : findResult(domain, issuingKey);
  const isFirst = issuingKey !== undefined && !inFlight.has(issuingKey);
  const target = {
    operation,
    method,
    path: req.path,
    idempotencyKey,
    isInProgress: issuingKey !== undefined && !isFirst,
    cardAgeMs: stored?.cardId === undefined ? undefined : domain.nowMs() - stored.atMs,
  };
  if (isFirst) inFlight.add(issuingKey);
  try {
    const before = takeRequestFault(domain, "before", target);
    if (before?.kind === "latency") await delay(before.delayMs, req.raw.signal);
    else if (before !== undefined) return { reply: applyFault(before), reason: describeFault(before) };

    const outcome = handlers[operation](domain, {
      id: req.param("id") ?? "",
      limit: req.query("limit"),
      body: text === undefined ? undefined : parseJson(c, text),
      idempotencyKey,
      apiKeyKind: apiKey.kind,
    });
    if (outcome.reply.status >= 400) return outcome; // nothing was committed
    const after = takeRequestFault(domain, "after-commit", target);
    if (after?.kind === "latency") await delay(after.delayMs, req.raw.signal);
    else if (after !== undefined) {
      return { ...outcome, reply: applyFault(after, outcome.reply), reason: describeFault(after) };
    }
    const delayed = before ?? after;
    return delayed === undefined ? outcome : { reason: describeFault(delayed), ...outcome };
  } finally {
    if (isFirst) inFlight.delete(issuingKey);
  }
}

/** Waits in real time, or until the client disconnects. */
function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The fault of a status needs no name: the status is beside it. */
const describeFault = ({ kind }: { kind: string }) =>
  ["status", "in-progress", "html"].includes(kind) ? "injected fault" : `injected fault: ${kind}`;

function toOutcome(error: unknown): Outcome {
  const problem = toProblem(error);
  return { reply: problemReply(problem), reason: formatReason(problem) };
}

const maxReasonLength = 200;

/** `customer.consents is missing`: the first error, or else the first sentence of the detail. A rule names its member; a sentence for a person does not. */
function formatReason({ message, errors: [error] }: Problem): string {
  if (error === undefined) return toReason(message.split(/\.\s/)[0] ?? "");
  const name = error.pointer.slice(1).replaceAll("/", ".");
  return toReason(error.rule?.replace(`"${name}"`, () => name) ?? `${name}: ${error.detail}`);
}

const toReason = (sentence: string) => toPrintable(sentence.replace(/\.$/, ""), maxReasonLength);

const maxRequests = 200;
const maxPathLength = 2_000;
/** Of a body, in characters. */
const maxLoggedLength = 65_536;

const startRequest = ({ domain, ids }: Backend, { req }: Call, operation?: OperationId): StartedRequest => ({
  id: ids.nextRequestId(),
  at: new Date(domain.nowMs()).toISOString(),
  startedMs: performance.now(),
  operation,
  method: req.method,
  path: req.url.slice(req.url.indexOf("/", "https://".length)).slice(0, maxPathLength),
  apiKey: undefined,
  idempotencyKey: undefined,
  requestBody: undefined,
});

/** Adds the request to the log. Absent members are undefined, which JSON leaves out. */
function logRequest(backend: Backend, { startedMs, ...request }: StartedRequest, outcome: Outcome): void {
  const { domain, requests, changes, logWarning } = backend;
  const { reply, reason, cardId = findNamedCard(domain, request.path), warnings = [] } = outcome;
  const isSent = reply.fault === undefined;
  for (const { message } of warnings) logWarning(message);
  requests.push({
    kind: "request",
    ...request,
    status: isSent ? reply.status : undefined,
    responseBody: isSent && typeof reply.body === "string" ? reply.body.slice(0, maxLoggedLength) : undefined,
    durationMs: Math.round(performance.now() - startedMs),
    reason,
    cardId,
    warnings,
  } as TrafficRequest);
  if (requests.length > maxRequests) requests.shift();
  changes.notify({ type: "request", id: request.id });
}

function findNamedCard({ state }: Domain, path: string): string | undefined {
  const id = /\/passes\/([^/?]+)/.exec(path)?.[1];
  return id !== undefined && state.cards.has(id) ? id : undefined;
}
