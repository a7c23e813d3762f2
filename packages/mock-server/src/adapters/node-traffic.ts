/** API requests and delivery attempts, as data and as one line each for a terminal. They contain no personal data, keys or secrets. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { Backend, TrafficRequest } from "../backend/backend.ts";
import type { Attempt, Delivery } from "../domain/state.ts";

const maxPathLength = 200;
const maxStartLength = 80;

/** A request to the service, or a delivery attempt from it. It contains no queries, keys or secrets, and of bodies only `responseStart`. */
export type TrafficEvent =
  | {
      kind: "request";
      /** The operation of the OpenAPI document, such as `issueCard`; absent for an unknown path. */
      operation?: string;
      method: string;
      /** Without the query. */
      path: string;
      /** Absent when an injected fault broke the connection. */
      status?: number;
      durationMs: number;
      /** Why the request failed, such as `customer.consents is missing`, `unknown key` or `injected fault: destroy`, or `replay`. It contains no values of the body. */
      reason?: string;
      /** The card that was issued. */
      cardId?: string;
      /** What is probably a mistake of the request, such as a field that the template does not have. Without values of the body. */
      warnings?: readonly string[];
    }
  | {
      kind: "delivery";
      type: string;
      eventId: string;
      deliveryId: string;
      /** The endpoint, without its query: a query may hold a token. */
      url: string;
      /** 1 for the first attempt. */
      attempt: number;
      /** The status of the response. */
      status?: number;
      /** Why there was no response. */
      error?: string;
      /** The start of the body of a response other than 2xx, which often says why; at most 80 characters. */
      responseStart?: string;
      durationMs: number;
      state: Delivery["state"];
      /** The time until the next attempt, by the service's clock; absent when none follows. */
      nextAttemptInMs?: number;
    };

type RequestTraffic = Extract<TrafficEvent, { kind: "request" }>;
type DeliveryTraffic = Extract<TrafficEvent, { kind: "delivery" }>;

/** `POST /api/v1/templates/tpl_club/passes 201 12 ms card_8sT2kq`, `--> balance.changed evt_0mm…  <-- 401 http://localhost:3000/webhooks/loyalty next in 1 min`. */
export function formatTraffic(event: TrafficEvent): string {
  if (event.kind === "request") {
    const { method, path, status = "---", durationMs, cardId, reason, warnings = [] } = event;
    const details = [cardId, reason, ...warnings.map((warning) => `warning: ${warning}`)].filter(Boolean);
    return [method, path, status, durationMs, "ms", ...details].join(" ");
  }
  const { type, eventId, status, error, url } = event;
  return `--> ${type} ${eventId}  <-- ${status ?? error} ${url}${formatNextAttempt(event)}`;
}

/** ` next in 5 min`, or empty after a success. */
function formatNextAttempt({ state, nextAttemptInMs }: DeliveryTraffic): string {
  if (nextAttemptInMs === 0) return " next now";
  if (nextAttemptInMs !== undefined) return ` next in ${formatDuration(nextAttemptInMs)}`;
  return state === "failed" ? " failed, no further attempt" : "";
}

/** Calls the listener after each request and each delivery attempt. */
export function listenToTraffic(
  { changes, domain, requests }: Backend,
  listener: (event: TrafficEvent) => void,
): void {
  const seen = new WeakSet<Attempt>();
  const isNew = ({ attempts }: Delivery) => {
    const attempt = attempts.at(-1);
    if (attempt === undefined || seen.has(attempt)) return false;
    seen.add(attempt);
    return true;
  };
  changes.subscribe(({ type, id = "" }) => {
    const { deliveries } = domain.state;
    const delivery = deliveries.get(id);
    const request = requests.at(-1);
    if (type === "reset") for (const each of deliveries.values()) isNew(each);
    if (type === "request" && request !== undefined) listener(toRequestTraffic(request));
    if (type === "delivery" && delivery !== undefined && isNew(delivery))
      listener(toDeliveryTraffic(domain, delivery));
  });
}

function toRequestTraffic(request: TrafficRequest): RequestTraffic {
  const { operation, method, path, status, durationMs, reason, cardId, warnings } = request;
  return {
    kind: "request",
    ...(operation !== undefined && { operation }),
    method,
    path: path.replace(/\?.*$/s, "").slice(0, maxPathLength),
    ...(status !== undefined && { status }),
    durationMs,
    ...(reason !== undefined && { reason }),
    ...(operation === "issueCard" && status === 201 && cardId !== undefined && { cardId }),
    ...(warnings.length > 0 && { warnings: warnings.map(({ message }) => message) }),
  };
}

function toDeliveryTraffic({ state, nowMs }: Backend["domain"], delivery: Delivery): DeliveryTraffic {
  const { id, type, eventId, endpointId, attempts, nextAttemptAt } = delivery;
  const { status, responseBody = "", error, durationMs } = attempts.at(-1) as Attempt;
  const isSuccess = status !== undefined && status >= 200 && status < 300;
  const responseStart = isSuccess ? "" : responseBody.trim().slice(0, maxStartLength);
  const endpoint = state.endpoints.get(endpointId);
  const address = endpoint && new URL(endpoint.url);
  return {
    kind: "delivery",
    type,
    eventId,
    deliveryId: id,
    url: address === undefined ? "(deleted endpoint)" : address.origin + address.pathname,
    attempt: attempts.length,
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    ...(responseStart !== "" && { responseStart }),
    durationMs,
    state: delivery.state,
    ...(nextAttemptAt !== undefined && { nextAttemptInMs: Math.max(0, Date.parse(nextAttemptAt) - nowMs()) }),
  };
}
