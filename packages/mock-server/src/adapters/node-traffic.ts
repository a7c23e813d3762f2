/** API requests and delivery attempts, as data for a log. They contain no personal data, keys or secrets. */
import type { Backend } from "../backend/backend.ts";
import type { Attempt, Delivery, TrafficRequest } from "../domain/state.ts";

const maxPathLength = 200;
const maxStartLength = 80;

type RequestEvent = Omit<
  TrafficRequest,
  "id" | "at" | "apiKey" | "idempotencyKey" | "requestBody" | "responseBody" | "warnings"
> & {
  /** What is probably a mistake of the request, such as a field that the template does not have. Without values of the body. */
  warnings?: readonly string[];
};

type DeliveryEvent = Pick<Delivery, "type" | "eventId" | "state"> &
  Pick<Attempt, "status" | "error" | "durationMs"> & {
    kind: "delivery";
    deliveryId: string;
    /** The endpoint, without its query: a query may hold a token. */
    url: string;
    /** 1 for the first attempt. */
    attempt: number;
    /** The start of the body of a response other than 2xx, which often says why; at most 80 characters. */
    responseStart?: string;
    /** The time until the next attempt, by the service's clock; absent when none follows. */
    nextAttemptInMs?: number;
  };

/** A request to the service, or a delivery attempt from it. It contains no queries, keys or secrets, and of bodies only `responseStart`. */
export type TrafficEvent = RequestEvent | DeliveryEvent;

/** Calls the listener after each request and each delivery attempt. */
export function listenToTraffic({ changes, domain }: Backend, listener: (event: TrafficEvent) => void): void {
  changes.subscribe(({ request, attempted }) => {
    if (request !== undefined) listener(toRequestEvent(request));
    if (attempted !== undefined) listener(toDeliveryEvent(domain, attempted));
  });
}

function toRequestEvent(request: TrafficRequest): RequestEvent {
  const { id, at, apiKey, idempotencyKey, requestBody, responseBody, cardId, warnings, ...event } = request;
  return {
    ...event,
    path: event.path.replace(/\?.*$/s, "").slice(0, maxPathLength),
    ...(event.operation === "issueCard" && event.status === 201 && cardId !== undefined && { cardId }),
    ...(warnings.length > 0 && { warnings: warnings.map(({ message }) => message) }),
  };
}

function toDeliveryEvent({ state, nowMs }: Backend["domain"], delivery: Delivery): DeliveryEvent {
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
