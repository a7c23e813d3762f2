/**
 * API requests, delivery attempts and movements of the clock, as data for a log. They contain no
 * personal data, keys or secrets.
 */
import { formatErrorKind, notify } from "@loyalty-cards/internal/reporting";
import { toLine } from "@loyalty-cards/internal/response-text";
import type { Backend } from "../backend/backend.ts";
import { describeRequest } from "../control/phrases.ts";
import { isSuccess } from "../delivery/deliveries.ts";
import type { Attempt, Delivery, TrafficRequest } from "../domain/state.ts";

const maxPathLength = 200;

type RequestEvent = Omit<
  TrafficRequest,
  "id" | "at" | "apiKey" | "idempotencyKey" | "requestBody" | "responseBody" | "fault" | "warnings"
> & {
  /**
   * What is probably a mistake of the request, such as a field that the template does not have.
   * Warnings contain no values of the body.
   */
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
    /**
     * What a response other than 2xx says, which is often why: the message of JSON, or the start of
     * its text; at most 200 characters.
     */
    responseStart?: string;
    /** The time until the next attempt, by the service's clock; absent when none follows. */
    nextAttemptInMs?: number;
  };

/**
 * A movement of the clock of the service. It comes before the attempts that it makes, if its end is
 * known.
 */
interface ClockEvent {
  kind: "clock";
  movedMs: number;
  /** The time after the movement, ISO 8601. */
  now: string;
}

/**
 * A request to the service, a delivery attempt from it, or a movement of its clock. It contains no
 * queries, keys or secrets, and of bodies only `responseStart`.
 */
export type TrafficEvent = RequestEvent | DeliveryEvent | ClockEvent;

/**
 * Smaller movements are not reported: a clock that runs is ahead by less, also when nothing was
 * due.
 */
const smallestMovementMs = 1_000;

/**
 * Calls the listener after each request and each delivery attempt, and when the clock is moved.
 * What it throws is logged: neither the request nor the schedule of a delivery may depend on it.
 */
export function listenToTraffic(
  { changes, domain }: Backend,
  listener: (event: TrafficEvent) => void,
  log: (line: string) => void,
): void {
  const emit = (event: TrafficEvent) =>
    notify(listener, event, (error) =>
      log(`onTraffic threw ${formatErrorKind(error)}; it must not throw.`),
    );
  changes.subscribe(({ request, attempted, moved }) => {
    if (request !== undefined) emit(toRequestEvent(request));
    if (attempted !== undefined) emit(toDeliveryEvent(domain, attempted));
    if (moved === undefined) return;
    const movedMs = moved.toMs - moved.fromMs;
    if (movedMs < smallestMovementMs) return;
    emit({ kind: "clock", movedMs, now: new Date(moved.toMs).toISOString() });
  });
}

function toRequestEvent(request: TrafficRequest): RequestEvent {
  const { id, at, apiKey, idempotencyKey, requestBody, responseBody, fault, ...rest } = request;
  const { warnings, reason: _, ...event } = rest;
  const reason = describeRequest(request, undefined);
  return {
    ...event,
    ...(reason !== "" && { reason }),
    path: event.path.replace(/\?.*$/s, "").slice(0, maxPathLength),
    ...(warnings.length > 0 && { warnings: warnings.map(({ message }) => message) }),
  };
}

function toDeliveryEvent({ state, nowMs }: Backend["domain"], delivery: Delivery): DeliveryEvent {
  const { id, type, eventId, endpointId, attempts, nextAttemptAt } = delivery;
  const attempt = attempts.at(-1) as Attempt;
  const { status, responseBody = "", error, durationMs } = attempt;
  const responseStart = isSuccess(attempt) ? "" : toLine(responseBody);
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
    ...(nextAttemptAt !== undefined && {
      nextAttemptInMs: Math.max(0, Date.parse(nextAttemptAt) - nowMs()),
    }),
  };
}
