/** API requests and delivery attempts, as data and as one line each for a terminal. They contain no personal data, keys or secrets. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { Backend } from "../backend/backend.ts";
import type { Attempt, Delivery } from "../delivery/deliveries.ts";
import type { ServiceResponse } from "../http/messages.ts";

const maxPathLength = 200;
const maxStartLength = 80;

/** A request to the service, or a delivery attempt from it. It contains no queries, keys or secrets, and of bodies only `responseStart`. */
export type TrafficEvent =
  | {
      kind: "request";
      method: string;
      /** Without the query; absent when the address is unreadable. */
      path?: string;
      /** Absent when an injected fault broke the connection. */
      status?: number;
      /** The injected fault that broke the connection. */
      fault?: string;
      durationMs: number;
      /** Why the request to the API failed, such as `customer.consents is missing` or `unknown key`, or `replay`. It contains no values of the body. */
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

/** @returns undefined for the control API, and for pages, unless the request failed. */
export function toRequestTraffic(
  method: string,
  path: string | undefined,
  response: ServiceResponse,
  durationMs: number,
): RequestTraffic | undefined {
  const { status, connectionFault, reason, warnings = [] } = response;
  if (path?.startsWith("/_mock/")) return undefined;
  const isApi = path?.startsWith("/api/v1/") ?? true;
  if (!isApi && status < 400) return undefined;
  const cardId = status === 201 ? response.cardId : undefined;
  return {
    kind: "request",
    method,
    ...(path !== undefined && { path: path.slice(0, maxPathLength) }),
    ...(connectionFault === undefined ? { status } : { fault: connectionFault }),
    durationMs: Math.round(durationMs),
    ...(isApi && reason !== undefined && { reason }),
    ...(cardId !== undefined && { cardId }),
    ...(warnings.length > 0 && { warnings: warnings.map(({ message }) => message) }),
  };
}

/** `POST /api/v1/templates/tpl_club/passes 201 12 ms card_8sT2kq`, `--> balance.changed evt_0mm…  <-- 401 http://localhost:3000/webhooks/loyalty next in 1 min`. */
export function formatTraffic(event: TrafficEvent): string {
  if (event.kind === "request") {
    const { method, path = "(unreadable address)", status = "---", durationMs, cardId, reason } = event;
    const details = [cardId, reason].filter((detail) => detail !== undefined);
    return [method, path, status, durationMs, "ms", ...details].join(" ");
  }
  const { type, eventId, status, error, url } = event;
  const next = formatNextAttempt(event);
  return `--> ${type} ${eventId}  <-- ${status ?? error} ${url}${next === "" ? "" : ` ${next}`}`;
}

/** `next in 5 min`, or empty after a success. */
function formatNextAttempt({ state, nextAttemptInMs }: DeliveryTraffic): string {
  if (nextAttemptInMs === 0) return "next now";
  if (nextAttemptInMs !== undefined) return `next in ${formatDuration(nextAttemptInMs)}`;
  return state === "failed" ? "failed, no further attempt" : "";
}

/** Calls the listener after each delivery attempt. */
export function listenToDeliveries(
  { changes, domain }: Backend,
  onDelivery: (event: DeliveryTraffic) => void,
): void {
  const seen = new WeakSet<Attempt>();
  const isNew = ({ attempts }: Delivery) => {
    const attempt = attempts.at(-1);
    if (attempt === undefined || seen.has(attempt)) return false;
    seen.add(attempt);
    return true;
  };
  changes.subscribe((change) => {
    const { deliveries } = domain.state;
    if (change.type === "reset") for (const delivery of deliveries.values()) isNew(delivery);
    if (change.type !== "delivery") return;
    const delivery = deliveries.get(change.id);
    if (delivery !== undefined && isNew(delivery)) onDelivery(toDeliveryTraffic(domain, delivery));
  });
}

const isSuccess = (status = 0) => status >= 200 && status < 300;

function toDeliveryTraffic(domain: Backend["domain"], delivery: Delivery): DeliveryTraffic {
  const { id, type, eventId, endpointId, attempts, state, nextAttemptAt } = delivery;
  const { status, error, responseBody = "", durationMs } = attempts.at(-1) as Attempt;
  const responseStart = responseBody.trim().slice(0, maxStartLength);
  const endpoint = domain.state.endpoints.get(endpointId);
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
    ...(responseStart !== "" && !isSuccess(status) && { responseStart }),
    durationMs,
    state,
    ...(nextAttemptAt !== undefined && {
      nextAttemptInMs: Math.max(0, Date.parse(nextAttemptAt) - domain.nowMs()),
    }),
  };
}
