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
import { hasWords, toWords } from "./search.ts";

type Traffic = components["schemas"]["Traffic"];
type Entry = TrafficRequest | Action | Delivery;
type Row = { position: string; entry: Entry };
/** What causes webhooks, by its id. */
type Causes = ReadonlyMap<string, TrafficRequest | Action>;

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
  const { after = "", query: text = "" } = query;

  const { recentActions, deliveries } = domain.state;
  const sources = { request: requests, action: recentActions, delivery: deliveries.values() };
  const entries = kind.value === undefined ? Object.values(sources) : [sources[kind.value]];
  const isFound = createSearch(domain, text);
  const found: Row[] = [];
  for (const entry of entries.flatMap((source): Entry[] => [...source])) {
    const position = "position" in entry ? entry.position : getPosition(entry.id);
    if (position > after && isFound(entry)) found.push({ position, entry });
  }
  const withProblem = found.filter(({ entry }) => hasProblem(entry));
  const listed = problems.value === "true" ? withProblem : found;
  const causes = new Map([...requests, ...recentActions].map((entry) => [entry.id, entry]));
  const items = listed
    .sort((a, b) => (a.position < b.position ? 1 : -1))
    .slice(0, limit.value)
    .map((row) => toItem(domain, row, causes));
  return { value: { items, total: listed.length, problems: withProblem.length } };
}

/**
 * @returns whether an entry has all words. A status finds only the entries that have it, because
 * each number is also in ids and bodies.
 */
function createSearch(domain: Domain, text: string): (entry: Entry) => boolean {
  const words = toWords(text);
  const isStatus = (word: string) => /^[2-5]\d\d$/.test(word);
  const statuses = words.filter(isStatus).map(Number);
  const others = words.filter((word) => !isStatus(word));
  return (entry) => {
    const own = statuses.length === 0 ? [] : getStatuses(entry);
    return (
      statuses.every((status) => own.includes(status)) &&
      (others.length === 0 || hasWords(others, toSearchTexts(domain, entry)))
    );
  };
}

/** @returns the status of a request, or those of the attempts of a delivery. */
function getStatuses(entry: Entry): (number | undefined)[] {
  if (!("kind" in entry)) return entry.attempts.map(({ status }) => status);
  return entry.kind === "request" ? [entry.status] : [];
}

/**
 * @returns the texts that a search looks at: the holder, what happened, a request without its times
 * and its response, a delivery with the results of its attempts.
 */
const toSearchTexts = (domain: Domain, entry: Entry): unknown[] => [
  ...getNames(domain, entry),
  describe(entry),
  ...getOwnTexts(entry),
];

function getOwnTexts(entry: Entry): unknown[] {
  if (!("kind" in entry)) {
    const { id, causeId, state, body, attempts } = entry;
    const results = attempts.map(({ status, error, responseBody }) => [
      status,
      error,
      responseBody,
    ]);
    return [id, causeId, state, body, ...results.flat()];
  }
  if (entry.kind === "action") return [entry.id, entry.cardId, entry.type, entry.wallet];
  const { kind: _, at, durationMs, responseBody, warnings, fault, sentBy, ...texts } = entry;
  return Object.values(texts);
}

/**
 * Whether a request failed or is probably a mistake, or the newest attempt of a delivery failed.
 */
function hasProblem(entry: Entry): boolean {
  if (!("kind" in entry))
    return entry.state === "failed" || (entry.state === "pending" && entry.failures > 0);
  if (entry.kind === "action") return false;
  return entry.status === undefined || entry.status >= 400 || entry.warnings.length > 0;
}

function toItem(
  domain: Domain,
  { position, entry }: Row,
  causes: Causes,
): Traffic["items"][number] {
  const [holder] = getNames(domain, entry);
  const row = { position, phrase: describe(entry), ...(holder !== undefined && { holder }) };
  if (!("kind" in entry)) return { ...toTrafficDelivery(domain, entry, causes), ...row };
  return { ...entry, ...row };
}

function describe(entry: Entry): string {
  if (!("kind" in entry)) return describeEvent(entry.type, parseEvent(entry).data);
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
function getSubject(entry: Entry): { cardId?: string | undefined; customerId?: string } {
  if ("kind" in entry) return { cardId: entry.cardId };
  const { passIds = [], customerId, ...event } = parseEvent(entry).data as EventSubject;
  const cardId = event.passId ?? (passIds.length === 1 ? passIds[0] : undefined);
  return { cardId, ...(customerId !== undefined && { customerId }) };
}

const parseEvent = ({ body }: Delivery): ServiceEvent => JSON.parse(body);

/**
 * @returns the names of the holder, of which the first is shown: the name, or else phone or email.
 */
function getNames(domain: Domain, entry: Entry): string[] {
  const { cards, customers } = domain.state;
  const { cardId = "", customerId = "" } = getSubject(entry);
  const card = cards.get(cardId);
  const customer = customers.get(card?.customerId ?? customerId);
  const nameOnCard = card === undefined ? undefined : getHolderName(domain, card);
  const given = customer === undefined && "kind" in entry ? findGivenName(entry) : undefined;
  const names = [nameOnCard, customer?.name, customer?.phone, customer?.email, given];
  return names.filter((name) => name !== undefined);
}

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
