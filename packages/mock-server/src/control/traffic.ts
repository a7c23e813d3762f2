/** The traffic: requests to the API and deliveries in one list, newest first. */
import type { components } from "@loyalty-cards/openapi/control";
import type { Backend, State, TrafficRequest } from "../backend/backend.ts";
import type { Delivery, ServiceEvent } from "../delivery/deliveries.ts";
import { getPosition } from "../domain/context.ts";
import { Problem } from "../domain/problem.ts";
import { ok } from "./route.ts";

type TrafficDelivery = components["schemas"]["TrafficDelivery"];
type Entry = TrafficRequest | Delivery;

const kinds = ["request", "delivery"];
const defaultLimit = 100;
const maxLimit = 200;

export function listTraffic({ domain: { state }, requests }: Backend, query: URLSearchParams) {
  const { kind = "", problems = "false", limit = defaultLimit, query: text = "" } = Object.fromEntries(query);
  if (kind !== "" && !kinds.includes(kind)) return new Problem(400, "kind must be request or delivery.");
  if (!["true", "false"].includes(problems)) return new Problem(400, "problems must be true or false.");
  if (!(Number.isInteger(Number(limit)) && Number(limit) >= 1)) {
    return new Problem(400, "limit must be a whole number, 1 or more.");
  }
  const words = text.trim().toLowerCase();
  const entries: Entry[] = [
    ...(kind === "delivery" ? [] : requests),
    ...(kind === "request" ? [] : state.deliveries.values()),
  ];
  const found = entries.filter((entry) => words === "" || toSearchText(entry).toLowerCase().includes(words));
  const withProblem = found.filter(hasProblem);
  const listed = problems === "true" ? withProblem : found;
  const items = listed
    .sort((a, b) => (getEntryPosition(a) < getEntryPosition(b) ? 1 : -1))
    .slice(0, Math.min(Number(limit), maxLimit))
    .map((entry) => ("kind" in entry ? entry : toTrafficDelivery(state, entry)));
  return ok({ items, total: listed.length, problems: withProblem.length });
}

/** Both kinds of ids begin with the time and a counter, so that also what happened in one millisecond has an order. */
const getEntryPosition = (entry: Entry) => getPosition("kind" in entry ? entry.id : entry.eventId);

function toSearchText(entry: Entry): string {
  if ("kind" in entry) {
    const { id, method, path, operation, status, reason, cardId, apiKey, idempotencyKey, requestBody } =
      entry;
    return [id, method, path, operation, status, reason, cardId, apiKey, idempotencyKey, requestBody].join(
      "\n",
    );
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
