/** The operations of the API (spec 4): authentication, injected faults, then the operation itself; and the log of the requests. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { ConsentChange } from "@loyalty-cards/openapi/validators";
import type { Backend } from "../backend/backend.ts";
import { type ApiKeyKind, apiKeyNames, findKeyKind, issuedVia, parseBearer } from "../domain/api-keys.ts";
import { toCard } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import { changeMarketingConsent, toConsentState } from "../domain/customers.ts";
import { findResult, issueCard } from "../domain/issue-card.ts";
import { listOperations, toOperation } from "../domain/ledger.ts";
import { Problem, toFieldErrors } from "../domain/problem.ts";
import type { Customer, StoredCard, TrafficRequest } from "../domain/state.ts";
import { takeRequestFault } from "../faults/rules.ts";
import { type App, createNotFound, toProblem } from "./app.ts";
import {
  applyFault,
  type Call,
  jsonReply,
  parseJson,
  parseLimit,
  problemReply,
  type Reply,
  readText,
  send,
} from "./reply.ts";

/** The entry of the log, which is completed while the request is processed. */
type Entry = { -readonly [Name in keyof TrafficRequest]: TrafficRequest[Name] };

/** A request to an operation, with a known API key. */
interface OperationCall {
  domain: Domain;
  req: Call["req"];
  /** The variable segment of the path. */
  id: string;
  /** The parsed body, of the operations that have one. */
  body: unknown;
  apiKeyKind: ApiKeyKind;
  entry: Entry;
}

/** @throws {Problem} */
const handlers: Record<OperationId, (call: OperationCall) => Reply> = {
  issueCard({ domain, id, body, apiKeyKind, entry }) {
    const { idempotencyKey } = entry;
    if (idempotencyKey !== undefined && !/^.{1,255}$/.test(idempotencyKey)) {
      throw new Problem(400, "Idempotency-Key must have 1 to 255 characters, or be absent.");
    }
    const command = { templateId: id, body, idempotencyKey, issuedVia: issuedVia[apiKeyKind] };
    const { result, isReplay, warnings } = issueCard(domain, command);
    if (warnings !== undefined) entry.warnings = warnings;
    if (result instanceof Problem) throw result;
    entry.cardId = result.id;
    if (isReplay) entry.reason = "replay";
    return jsonReply(201, toCard(domain, result));
  },
  getCard: ({ domain, id }) => jsonReply(200, toCard(domain, findCard(domain, id))),
  listOperations({ domain, req, id }) {
    findCard(domain, id);
    const newest = listOperations(domain, id).slice(0, parseLimit(req.query("limit"), 20));
    return jsonReply(200, { items: newest.map(toOperation) });
  },
  getConsent: ({ domain, id }) => jsonReply(200, toConsentState(findHolder(domain, id))),
  setConsent({ domain, id, body }) {
    const holder = findHolder(domain, id);
    if (!ConsentChange(body)) throw Problem.invalid(toFieldErrors(ConsentChange));
    changeMarketingConsent(domain, holder, body);
    return jsonReply(200, toConsentState(holder));
  },
};

function findCard({ state }: Domain, id: string): StoredCard {
  const card = state.cards.get(id);
  if (card === undefined) throw new Problem(404, "There is no card with this id.");
  return card;
}

const findHolder = (domain: Domain, id: string) =>
  domain.state.customers.get(findCard(domain, id).customerId) as Customer; // customers are never removed

export function addOperations(app: App, backend: Backend): void {
  const { domain } = backend;
  /** The idempotency keys of the requests that are being processed, so that a second one with the same key is noticed. */
  const inFlight = new Set<string>();
  for (const [operation, { method, path }] of Object.entries(operations)) {
    app.on(method, `/api/v1${path.replace(/\{\w+\}/, ":id")}`, async (c) => {
      const startedMs = performance.now();
      const entry = createEntry(backend, c, { operation: operation as OperationId });
      const reply = await perform(domain, c, entry, inFlight).catch((error) => {
        const problem = toProblem(error);
        entry.reason = formatReason(problem);
        return problemReply(problem);
      });
      entry.durationMs = Math.round(performance.now() - startedMs);
      logRequest(backend, entry, reply);
      return send(c, reply);
    });
  }
  // On a port, /api/docs is the interactive reference.
  app.on("GET", ["/api/docs", "/api/docs/json"], async (c) => {
    const { default: document } = await import("@loyalty-cards/openapi/openapi.json", {
      with: { type: "json" },
    });
    const servers = [{ url: `${domain.baseUrl}/api/v1`, description: "This mock server." }];
    return send(c, jsonReply(200, { ...document, servers }));
  });
  app.notFound((c) => {
    const reply = createNotFound(app, c);
    const { method, path } = c.req;
    if (!path.startsWith("/_mock")) {
      const reason = toReason(`There is no ${method} ${path}`);
      logRequest(backend, createEntry(backend, c, { reason }), reply);
    }
    return send(c, reply);
  });
}

/** @throws {Problem} */
async function perform(domain: Domain, c: Call, entry: Entry, inFlight: Set<string>): Promise<Reply> {
  const operation = entry.operation as OperationId;
  const { req } = c;
  const text = operations[operation].hasBody ? await readText(c) : undefined;
  if (text !== undefined) entry.requestBody = text.slice(0, maxLoggedLength);
  const key = parseBearer(req.header("authorization"));
  const apiKeyKind = findKeyKind(key);
  if (apiKeyKind === undefined) {
    entry.reason = key === undefined ? "no API key" : "unknown key";
    return problemReply(new Problem(401, "The API key is missing or unknown."));
  }
  entry.apiKey = apiKeyNames[apiKeyKind];
  const idempotencyKey = req.header("idempotency-key");
  if (idempotencyKey !== undefined) entry.idempotencyKey = idempotencyKey;
  const issuingKey = operation === "issueCard" ? idempotencyKey : undefined;
  const stored = issuingKey === undefined ? undefined : findResult(domain, issuingKey);
  const isFirst = issuingKey !== undefined && !inFlight.has(issuingKey);
  const target = {
    operation,
    idempotencyKey,
    isInProgress: issuingKey !== undefined && !isFirst,
    cardAgeMs: stored?.cardId === undefined ? undefined : domain.nowMs() - stored.atMs,
  };
  /** Waits for a fault of latency. @returns the reply of another fault. */
  async function inject(phase: "before" | "after-commit", own?: Reply): Promise<Reply | undefined> {
    const fault = takeRequestFault(domain, phase, target);
    if (fault === undefined) return undefined;
    if (fault.kind !== "latency") {
      entry.reason = describeFault(fault);
      return applyFault(fault, own);
    }
    entry.reason ??= describeFault(fault); // a replay says more
    await delay(fault.delayMs, req.raw.signal);
    return undefined;
  }
  if (isFirst) inFlight.add(issuingKey);
  try {
    const fault = await inject("before");
    if (fault !== undefined) return fault;
    const body = text === undefined ? undefined : parseJson(c, text);
    const call = { domain, req, id: req.param("id") ?? "", body, apiKeyKind, entry };
    const reply = handlers[operation](call);
    return (await inject("after-commit", reply)) ?? reply;
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

/** @param known what is known of the request before it is processed. */
const createEntry = ({ domain, ids }: Backend, { req }: Call, known: Partial<Entry>): Entry => ({
  kind: "request",
  id: ids.nextRequestId(),
  at: new Date(domain.nowMs()).toISOString(),
  method: req.method,
  path: req.url.slice(req.url.indexOf("/", "https://".length)).slice(0, maxPathLength),
  durationMs: 0,
  warnings: [],
  ...known,
});

/** Adds the request to the log, with the reply unless an injected fault breaks the connection. */
function logRequest({ domain, settings, requests, changes }: Backend, entry: Entry, reply: Reply): void {
  const cardId = entry.cardId ?? findNamedCard(domain, entry.path);
  if (cardId !== undefined) entry.cardId = cardId;
  if (reply.fault === undefined) {
    entry.status = reply.status;
    if (typeof reply.body === "string") entry.responseBody = reply.body.slice(0, maxLoggedLength);
  }
  for (const { message } of entry.warnings) settings.log(`warning: ${message}`);
  requests.push(entry);
  if (requests.length > maxRequests) requests.shift();
  changes.notify({ request: entry });
}

function findNamedCard({ state }: Domain, path: string): string | undefined {
  const id = /\/passes\/([^/?]+)/.exec(path)?.[1];
  return id !== undefined && state.cards.has(id) ? id : undefined;
}
