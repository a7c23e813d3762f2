/**
 * The traffic: requests, deliveries and actions in one list, what happened last first; each with
 * what its row in the console says.
 */
import type { Result } from "@loyalty-cards/internal/result";
import type { components } from "@loyalty-cards/openapi/control";
import type { Backend } from "../backend/backend.ts";
import { getHolderName } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import { getPosition } from "../domain/ids.ts";
import type { Problem } from "../domain/problem.ts";
import type { Action, Delivery, ServiceEvent, TrafficRequest } from "../domain/state.ts";
import { isObject } from "../domain/validation.ts";
import { parseLimit } from "../http/request.ts";
import { describeAction, describeEvent, describeRequest } from "./phrases.ts";
import { maxListed, parseChoice } from "./route.ts";
import { compareMatches, findWords, type Match, type SearchTexts, toWords } from "./search.ts";

type Traffic = components["schemas"]["Traffic"];
type Entry = TrafficRequest | Action | Delivery;
type Row = { position: string; entry: Entry; match: Match };
/** What causes webhooks, by its id. */
type Causes = ReadonlyMap<string, TrafficRequest | Action>;

const isDelivery = (entry: Entry): entry is Delivery => !("kind" in entry);

export function listTraffic(
  { domain, requests }: Backend,
  query: Record<string, string>,
): Result<Traffic, Problem> {
  const kind = parseChoice(query, "kind", ["request", "delivery", "action"]);
  if (kind.failure !== undefined) return kind;
  const problems = parseChoice(query, "problems", ["true", "false"]);
  if (problems.failure !== undefined) return problems;
  const limit = parseLimit(query["limit"], { fallback: 100, max: maxListed });
  if (limit.failure !== undefined) return limit;
  const { after = "", query: text = "", open } = query;

  const { recentActions, deliveries } = domain.state;
  const causes = new Map([...requests, ...recentActions].map((entry) => [entry.id, entry]));
  const search = createSearch(domain, text, causes);
  const found: Row[] = [];
  for (const entry of [...requests, ...recentActions, ...deliveries.values()]) {
    const position = isDelivery(entry) ? entry.position : getPosition(entry.id);
    const match = position > after ? search(entry) : undefined;
    if (match !== undefined) found.push({ position, entry, match });
  }
  const listed = found.filter(
    ({ entry }) =>
      (kind.value === undefined || getKind(entry) === kind.value) &&
      (problems.value !== "true" || hasProblem(entry) || entry.id === open),
  );
  const items = listed
    .sort((a, b) => compareMatches(a, b) || (a.position < b.position ? 1 : -1))
    .slice(0, limit.value)
    .map((row) => toItem(domain, row, causes));
  const withProblem = found.filter(({ entry }) => hasProblem(entry));
  return { value: { items, total: listed.length, problems: withProblem.length } };
}

const getKind = (entry: Entry) => (isDelivery(entry) ? "delivery" : entry.kind);

/**
 * @returns a function that searches an entry. A status finds only the entries that have it, because
 * each number is also in ids and bodies.
 */
function createSearch(domain: Domain, text: string, causes: Causes) {
  const words = toWords(text);
  const isStatus = (word: string) => /^[2-5]\d\d$/.test(word);
  const statuses = words.filter(isStatus).map(Number);
  const others = words.filter((word) => !isStatus(word));
  return (entry: Entry): Match | undefined => {
    const own = statuses.length === 0 ? [] : getStatuses(entry);
    if (!statuses.every((status) => own.includes(status))) return undefined;
    return others.length === 0 ? {} : findWords(others, toSearchTexts(domain, entry, causes));
  };
}

/** @returns the status of a request, or those of the attempts of a delivery. */
function getStatuses(entry: Entry): (number | undefined)[] {
  if (isDelivery(entry)) return entry.attempts.map(({ status }) => status);
  return entry.kind === "request" ? [entry.status] : [];
}

function toSearchTexts(domain: Domain, entry: Entry, causes: Causes): SearchTexts {
  const names = getNames(domain, entry);
  const { cardId, customerId, passIds = [] } = getSubject(entry);
  const shown = [getHolder(names), describe(entry)];
  const ids = [entry.id, cardId, customerId, ...passIds];
  if (isDelivery(entry)) {
    const { type, eventId, causeId, body, attempts } = entry;
    const responses = attempts.map(
      ({ error, responseBody }) => `${error ?? ""} ${responseBody ?? ""}`,
    );
    const cause = causes.get(causeId ?? "");
    return {
      shown: [...shown, type, responses.at(-1)],
      ids: [...ids, eventId, causeId],
      hidden: {
        ...names,
        cause: cause && toCause(cause).name,
        body,
        "earlier response": responses.slice(0, -1).join(" "),
      },
    };
  }
  if (entry.kind === "action") return { shown: [...shown, entry.type], ids, hidden: names };
  const { operation, method, path, sentBy, warnings, idempotencyKey, requestBody } = entry;
  const name = operation ?? `${method} ${path}`;
  const wordsOfName = name.replace(/[A-Z]/, " $&"); // "issue Card"
  const sender = sentBy && `by the ${sentBy}`;
  const messages = warnings.map(({ message }) => message);
  return {
    shown: [...shown, name, wordsOfName, sender, ...messages],
    ids,
    hidden: { ...names, "idempotency key": idempotencyKey, path, body: requestBody },
  };
}

/**
 * Whether a request failed or is probably a mistake, or the newest attempt of a delivery failed.
 * The doctor expects its requests to fail.
 */
function hasProblem(entry: Entry): boolean {
  if (isDelivery(entry))
    return entry.state === "failed" || (entry.state === "pending" && entry.failures > 0);
  if (entry.kind === "action" || entry.sentBy === "doctor") return false;
  return entry.status === undefined || entry.status >= 400 || entry.warnings.length > 0;
}

function toItem(
  domain: Domain,
  { position, entry, match }: Row,
  causes: Causes,
): Traffic["items"][number] {
  const holder = getHolder(getNames(domain, entry));
  const shown = { phrase: describe(entry), ...(holder !== undefined && { holder }) };
  const row = { position, ...shown, ...match };
  if (isDelivery(entry)) return { ...toTrafficDelivery(domain, entry, causes), ...row };
  return { ...entry, ...row };
}

function describe(entry: Entry): string {
  if (isDelivery(entry)) return describeEvent(entry.type, parseEvent(entry).data);
  if (entry.kind === "action") return describeAction(entry);
  return describeRequest(entry, parse(entry.responseBody));
}

function toTrafficDelivery({ state }: Domain, delivery: Delivery, causes: Causes) {
  const { createdAt } = parseEvent(delivery);
  const { cardId, customerId } = getSubject(delivery);
  const { url, secretReplacedAt } = state.endpoints.get(delivery.endpointId) ?? {};
  const cause = causes.get(delivery.causeId ?? "");
  return {
    kind: "delivery" as const,
    ...delivery,
    at: delivery.attempts.at(-1)?.at ?? createdAt,
    ...(url !== undefined && { url }),
    ...(secretReplacedAt !== undefined && { secretReplacedAt }),
    ...(cause !== undefined && { cause: toCause(cause) }),
    ...(cardId !== undefined && { cardId }),
    ...(customerId !== undefined && { customerId }),
  };
}

const toCause = (entry: TrafficRequest | Action) => ({
  name: entry.kind === "action" ? entry.type : (entry.operation ?? entry.path),
  at: entry.at,
});

interface EventSubject {
  passId?: string;
  passIds?: string[];
  customerId?: string;
}

/** Whom an entry is about. An event of a customer is about the card if there is only one. */
function getSubject(entry: Entry): EventSubject & { cardId?: string | undefined } {
  if (!isDelivery(entry)) return { cardId: entry.cardId };
  const { passId, ...subject } = parseEvent(entry).data as EventSubject;
  const { passIds = [] } = subject;
  return { ...subject, cardId: passId ?? (passIds.length === 1 ? passIds[0] : undefined) };
}

const parseEvent = ({ body }: Delivery): ServiceEvent => JSON.parse(body);

/** @returns the names of the holder, of which the first that is known is shown. */
function getNames(domain: Domain, entry: Entry): Record<string, string | undefined> {
  const { cards, customers } = domain.state;
  const { cardId = "", customerId = "" } = getSubject(entry);
  const card = cards.get(cardId);
  const customer = customers.get(card?.customerId ?? customerId);
  return {
    "name on the card": card && getHolderName(domain, card),
    name: customer?.name,
    phone: customer?.phone,
    email: customer?.email,
    "name in the body":
      customer === undefined && !isDelivery(entry) ? findGivenName(entry) : undefined,
  };
}

const getHolder = (names: ReturnType<typeof getNames>) =>
  Object.values(names).find((name) => name !== undefined);

/** The name that a request without a card has in its body. */
function findGivenName(entry: TrafficRequest | Action): string | undefined {
  const body = entry.kind === "request" ? parse(entry.requestBody) : undefined;
  if (!isObject(body)) return undefined;
  const parts = [body["customer"], body["fieldValues"]].filter(isObject);
  return parts.map((part) => part["name"]).find((name) => typeof name === "string");
}

/** @returns undefined for what is no JSON, such as the beginning of a long body. */
function parse(text = ""): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
