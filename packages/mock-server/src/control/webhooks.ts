/** Control routes for webhook endpoints, deliveries, and the traffic: requests and deliveries in one list. */
import type { components } from "@loyalty-cards/openapi/control";
import { EndpointChange, EndpointInput } from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  replaceSecret,
  toWebhookEndpoint,
  updateEndpoint,
} from "../delivery/endpoints.ts";
import { getById, getPosition } from "../domain/context.ts";
import type { Delivery, ServiceEvent, State, TrafficRequest } from "../domain/state.ts";
import { parseLimit } from "../http/reply.ts";
import { parseChoice, type Router } from "./route.ts";

type Traffic = components["schemas"]["Traffic"];
type TrafficDelivery = components["schemas"]["TrafficDelivery"];

export function addWebhookRoutes({ route, routeWithBody }: Router, backend: Backend): void {
  const { domain, dispatcher } = backend;
  route("GET /webhooks/endpoints", () => ({
    items: [...domain.state.endpoints.values()].map(toWebhookEndpoint),
  }));
  routeWithBody("POST /webhooks/endpoints 201", EndpointInput, ({ body }) => createEndpoint(domain, body));
  routeWithBody("PATCH /webhooks/endpoints/:id", EndpointChange, ({ id, body }) =>
    updateEndpoint(domain, id, body),
  );
  route("DELETE /webhooks/endpoints/:id", ({ id }) => deleteEndpoint(domain, id));
  route("GET /webhooks/endpoints/:id/secret", ({ id }) => {
    const { secret } = getEndpoint(domain, id);
    return { id, secret };
  });
  route("POST /webhooks/endpoints/:id/new-secret", ({ id }) => replaceSecret(domain, id));
  route("POST /webhooks/endpoints/:id/test 202", ({ id }) => dispatcher.sendTest(id));

  route("GET /webhooks/deliveries/:id", ({ id }) => getById(domain.state.deliveries, id, "delivery"));
  route("POST /webhooks/deliveries/:id/resend 202", ({ id }) => dispatcher.resend(id));

  route("GET /traffic", ({ query }) => listTraffic(domain.state, backend.requests, query));
}

type Entry = TrafficRequest | Delivery;

function listTraffic(
  state: State,
  requests: readonly TrafficRequest[],
  query: Record<string, string>,
): Traffic {
  const kind = parseChoice(query, "kind", ["request", "delivery"]);
  const isOnlyProblems = parseChoice(query, "problems", ["true", "false"]) === "true";
  const limit = parseLimit(query["limit"], 100, 200);
  const words = (query["query"] ?? "").trim().toLowerCase();
  const entries: Entry[] = [
    ...(kind === "delivery" ? [] : requests),
    ...(kind === "request" ? [] : state.deliveries.values()),
  ];
  const found = entries.filter((entry) => words === "" || toSearchText(entry).toLowerCase().includes(words));
  const withProblem = found.filter(hasProblem);
  const listed = isOnlyProblems ? withProblem : found;
  const items = listed
    .sort((a, b) => (getEntryPosition(a) < getEntryPosition(b) ? 1 : -1))
    .slice(0, limit)
    .map((entry) => ("kind" in entry ? entry : toTrafficDelivery(state, entry)));
  return { items, total: listed.length, problems: withProblem.length };
}

/** Both kinds of ids begin with the time and a counter, so that also what happened in one millisecond has an order. */
const getEntryPosition = (entry: Entry) => getPosition("kind" in entry ? entry.id : entry.eventId);

/** Of a request everything but its times and its response; of a delivery also what became of its attempts. */
function toSearchText(entry: Entry): string {
  if ("kind" in entry) {
    const { kind: _, at, durationMs, responseBody, warnings, ...texts } = entry;
    return Object.values(texts).join("\n");
  }
  const { id, state, body, attempts } = entry;
  return [id, state, body, ...attempts.map(({ status, error }) => status ?? error)].join("\n");
}

/** A failed request, one that is probably a mistake, and a delivery whose newest attempt failed. */
function hasProblem(entry: Entry): boolean {
  if ("kind" in entry) {
    return entry.status === undefined || entry.status >= 400 || entry.warnings.length > 0;
  }
  return entry.state === "failed" || (entry.state === "pending" && entry.failures > 0);
}

function toTrafficDelivery({ endpoints }: State, delivery: Delivery): TrafficDelivery {
  const { createdAt, data } = JSON.parse(delivery.body) as ServiceEvent;
  const { passId } = data as { passId?: string };
  const url = endpoints.get(delivery.endpointId)?.url;
  return {
    kind: "delivery",
    at: createdAt,
    ...delivery,
    ...(url !== undefined && { url }),
    ...(passId !== undefined && { cardId: passId }),
  };
}
