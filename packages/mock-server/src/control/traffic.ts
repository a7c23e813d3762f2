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
import { compareMatches, type SearchTexts, searchEntries } from "./search.ts";

type Traffic = components["schemas"]["Traffic"];
type Item = Traffic["items"][number];
/** What causes webhooks, by its id. */
type Causes = ReadonlyMap<string, TrafficRequest | Action>;

/** An entry of the list, whatever its kind. */
interface Entry {
  kind: Item["kind"];
  id: string;
  position: string;
  hasProblem: boolean;
  /** The status of a request, or those of the attempts of a delivery. */
  statuses: readonly (number | undefined)[];
  /** Parses the bodies, so it is called only for what is searched or listed. */
  describe(): SearchTexts & { item: object };
}

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
  const entries = [
    ...requests.map((request) => toRequestEntry(domain, request)),
    ...recentActions.map((action) => toActionEntry(domain, action)),
    ...Array.from(deliveries.values(), (delivery) => toDeliveryEntry(domain, delivery, causes)),
  ];
  const found = searchEntries(
    entries.filter(({ position }) => position > after),
    text,
  );
  const isOfKind = (entry: Entry) => kind.value === undefined || entry.kind === kind.value;
  // The entry that is open in the console stays in the list when it has no problem any more.
  const isSelected = (entry: Entry) =>
    problems.value !== "true" || entry.hasProblem || entry.id === open;
  const listed = found.filter(({ entry }) => isOfKind(entry) && isSelected(entry));
  const items = listed
    .sort((a, b) => compareMatches(a, b) || (a.entry.position < b.entry.position ? 1 : -1))
    .slice(0, limit.value)
    // JSON leaves out the members of an item that are undefined.
    .map(({ entry, match }) => ({ ...entry.describe().item, ...match }) as Item);
  const withProblem = found.filter(({ entry }) => entry.hasProblem);
  return { value: { items, total: listed.length, problems: withProblem.length } };
}

function toRequestEntry(domain: Domain, request: TrafficRequest): Entry {
  const { id, cardId, status, sentBy, warnings } = request;
  const position = getPosition(id);
  const isMistake = status === undefined || status >= 400 || warnings.length > 0;
  return {
    kind: "request",
    id,
    position,
    hasProblem: isMistake && sentBy !== "doctor", // which expects its requests to fail
    statuses: [status],
    describe() {
      const { operation, method, path, idempotencyKey, requestBody } = request;
      const names = getNames(domain, { cardId }, requestBody);
      const row = toRow(position, names, describeRequest(request, parse(request.responseBody)));
      const name = operation ?? `${method} ${path}`;
      const wordsOfName = name.replace(/[A-Z]/, " $&"); // "issue Card"
      const sender = sentBy && `by the ${sentBy}`;
      const messages = warnings.map(({ message }) => message);
      return {
        item: { ...request, ...row },
        shown: [row.holder, row.phrase, name, wordsOfName, sender, ...messages],
        ids: [id, cardId],
        hidden: { ...names, "idempotency key": idempotencyKey, path, body: requestBody },
      };
    },
  };
}

function toActionEntry(domain: Domain, action: Action): Entry {
  const { id, cardId, type } = action;
  const position = getPosition(id);
  return {
    kind: "action",
    id,
    position,
    hasProblem: false,
    statuses: [],
    describe() {
      const names = getNames(domain, { cardId });
      const row = toRow(position, names, describeAction(action));
      return {
        item: { ...action, ...row },
        shown: [row.holder, row.phrase, type],
        ids: [id, cardId],
        hidden: names,
      };
    },
  };
}

function toDeliveryEntry(domain: Domain, delivery: Delivery, causes: Causes): Entry {
  const { id, position, state, failures, attempts } = delivery;
  return {
    kind: "delivery",
    id,
    position,
    hasProblem: state === "failed" || (state === "pending" && failures > 0),
    statuses: attempts.map(({ status }) => status),
    describe() {
      const { type, endpointId, eventId, causeId, body } = delivery;
      const { createdAt, data }: ServiceEvent = JSON.parse(body);
      const { passId, customerId, passIds = [] } = data as EventSubject;
      // An event of a customer is about the card if there is only one.
      const cardId = passId ?? (passIds.length === 1 ? passIds[0] : undefined);
      const names = getNames(domain, { cardId, customerId });
      const row = toRow(position, names, describeEvent(type, data));
      const { url, secretReplacedAt } = domain.state.endpoints.get(endpointId) ?? {};
      const cause = findCause(causes, causeId);
      const at = attempts.at(-1)?.at ?? createdAt;
      const more = { kind: "delivery", at, url, secretReplacedAt, cause, cardId, customerId };
      const responses = attempts.map((one) => `${one.error ?? ""} ${one.responseBody ?? ""}`);
      const earlier = responses.slice(0, -1).join(" ");
      return {
        item: { ...delivery, ...more, ...row },
        shown: [row.holder, row.phrase, type, responses.at(-1)],
        ids: [id, cardId, customerId, ...passIds, eventId, causeId],
        hidden: { ...names, cause: cause?.name, body, "earlier response": earlier },
      };
    },
  };
}

/** What every item has: its holder is the first name that is known. */
const toRow = (position: string, names: Names, phrase: string) => ({
  position,
  phrase,
  holder: Object.values(names).find((name) => name !== undefined),
});

function findCause(causes: Causes, id = "") {
  const entry = causes.get(id);
  if (entry === undefined) return undefined;
  const name = entry.kind === "action" ? entry.type : (entry.operation ?? entry.path);
  return { name, at: entry.at };
}

interface EventSubject {
  passId?: string;
  customerId?: string;
  passIds?: string[];
}

type Names = Readonly<Record<string, string | undefined>>;

/**
 * Returns the names of the holder of a card, or of a customer.
 * @param body that of a request, which names a customer whom the service does not know.
 */
function getNames(
  domain: Domain,
  { cardId = "", customerId = "" }: { cardId: string | undefined; customerId?: string | undefined },
  body?: string,
): Names {
  const { cards, customers } = domain.state;
  const card = cards.get(cardId);
  const customer = customers.get(card?.customerId ?? customerId);
  return {
    "name on the card": card && getHolderName(domain, card),
    name: customer?.name,
    phone: customer?.phone,
    email: customer?.email,
    "name in the body": customer === undefined ? findGivenName(body) : undefined,
  };
}

function findGivenName(requestBody: string | undefined): string | undefined {
  const body = parse(requestBody);
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
