/**
 * Deliveries: one event sent to one endpoint, with every attempt and the retry schedule (spec 3.2).
 */
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import { type Domain, getById } from "../domain/context.ts";
import { ConflictError } from "../domain/errors.ts";
import { generateId, getPosition } from "../domain/ids.ts";
import type { Attempt, Delivery, ServiceEvent, State } from "../domain/state.ts";

/**
 * The service retries 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours after the previous
 * failure, so for 8 h 36 min in all. Inboxes and `memoryDedupe` remember events for longer.
 */
const retryDelaysMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];

/** All members that are present must match. */
export type DeliveryFilter = Partial<Pick<Delivery, "endpointId" | "eventId" | "type" | "state">>;

export const deliveryFilterNames = {
  endpointId: true,
  eventId: true,
  type: true,
  state: true,
} satisfies OptionNames<DeliveryFilter>;

/**
 * Creates a delivery of an event to an endpoint.
 * @param delayMs the time until its first attempt.
 */
export function createDelivery(
  { state, nowMs, notifyChange }: Domain,
  sent: { event: ServiceEvent; causeId: string | undefined; endpointId: string; body: string },
  delayMs: number,
): Delivery {
  const { event, causeId, endpointId, body } = sent;
  const delivery: Delivery = {
    id: generateId("dlv"),
    eventId: event.id,
    ...(causeId !== undefined && { causeId }),
    type: event.type,
    endpointId,
    state: "pending",
    attempts: [],
    position: getPosition(event.id),
    nextAttemptAt: toIso(nowMs() + delayMs),
    body,
    failures: 0,
  };
  state.deliveries.set(delivery.id, delivery);
  state.pendingDeliveryIds.add(delivery.id);
  notifyChange();
  return delivery;
}

/** Only a 2xx counts as delivered (spec 6.3.1). */
export const isSuccess = ({ status = 0 }: Attempt) => status >= 200 && status < 300;

/** Records an attempt, and plans the next one after a failure. */
export function recordAttempt(domain: Domain, delivery: Delivery, attempt: Attempt): void {
  delivery.attempts.push(attempt);
  if (!isSuccess(attempt)) delivery.failures += 1;
  const next = decideNext(delivery, attempt);
  if (next === "restart") restart(domain, delivery);
  else if (next === "delivered" || next === "failed") end(domain, delivery, next);
  else delivery.nextAttemptAt = toIso(domain.nowMs() + next.delayMs);
  domain.notifyChange({ attempted: delivery });
}

/** Decides what follows an attempt that was recorded. */
function decideNext(
  { state, failures, isResent }: Delivery,
  attempt: Attempt,
): "restart" | "delivered" | "failed" | { delayMs: number } {
  if (isResent) return "restart";
  if (isSuccess(attempt)) return "delivered";
  if (state !== "pending") return "failed"; // the endpoint was deleted during the attempt
  const delayMs = retryDelaysMs[failures - 1];
  return delayMs === undefined ? "failed" : { delayMs };
}

/** @throws {RangeError} for an unknown delivery, and for one whose endpoint was deleted. */
export function getResendable({ state }: Domain, deliveryId: string): Delivery {
  const delivery = getById(state.deliveries, deliveryId, "delivery");
  if (!state.endpoints.has(delivery.endpointId))
    throw new ConflictError("The endpoint of this delivery was deleted.");
  return delivery;
}

/** Starts a delivery again: due at once, or after the attempt in progress, with all retries. */
export function restartDelivery(domain: Domain, delivery: Delivery, isInProgress: boolean): void {
  if (isInProgress) delivery.isResent = true;
  else restart(domain, delivery);
  domain.notifyChange();
}

function restart({ state, nowMs }: Domain, delivery: Delivery): void {
  delete delivery.isResent;
  delivery.state = "pending";
  delivery.failures = 0;
  delivery.nextAttemptAt = toIso(nowMs());
  state.pendingDeliveryIds.add(delivery.id);
}

function end({ state }: Domain, delivery: Delivery, outcome: "delivered" | "failed"): void {
  delete delivery.isResent;
  delete delivery.nextAttemptAt;
  delivery.state = outcome;
  state.pendingDeliveryIds.delete(delivery.id);
}

/**
 * Marks the pending deliveries of an endpoint as failed. An attempt in progress is the last one.
 */
export function failPendingDeliveries(domain: Domain, endpointId: string): void {
  const pending = listPending(domain.state).filter((each) => each.endpointId === endpointId);
  for (const delivery of pending) {
    end(domain, delivery, "failed");
    domain.notifyChange();
  }
}

export const listPending = ({ deliveries, pendingDeliveryIds }: State): Delivery[] =>
  Array.from(pendingDeliveryIds, (id) => deliveries.get(id) as Delivery);

export function findDeliveries(
  { state }: Domain,
  filter: DeliveryFilter & { id?: string },
): Delivery[] {
  const wanted = Object.entries(filter) as [keyof DeliveryFilter, string][];
  return [...state.deliveries.values()].filter((delivery) =>
    wanted.every(([member, value]) => value === undefined || delivery[member] === value),
  );
}

const toIso = (atMs: number) => new Date(atMs).toISOString();
