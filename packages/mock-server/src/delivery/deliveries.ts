/** Deliveries: one event sent to one endpoint, with every attempt and the retry schedule (spec 3.2). */
import { type Domain, generateId, getById } from "../domain/context.ts";
import type { Attempt, Delivery, ServiceEvent, State } from "../domain/state.ts";

/** 1 minute, 5 minutes, 30 minutes, 2 hours, 6 hours; each after the previous failure. */
const retryDelaysMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];

/** All members that are present must match. */
export type DeliveryFilter = Partial<Pick<Delivery, "endpointId" | "eventId" | "type" | "state">>;

/** Creates a delivery of an event to an endpoint. @param delayMs the time until its first attempt. */
export function createDelivery(
  { state, nowMs, notifyChange }: Domain,
  event: ServiceEvent,
  endpointId: string,
  body: string,
  delayMs: number,
): Delivery {
  const delivery: Delivery = {
    id: generateId("dlv"),
    eventId: event.id,
    type: event.type,
    endpointId,
    state: "pending",
    attempts: [],
    nextAttemptAt: toIso(nowMs() + delayMs),
    body,
    failures: 0,
  };
  state.deliveries.set(delivery.id, delivery);
  state.pendingDeliveryIds.add(delivery.id);
  notifyChange();
  return delivery;
}

/** Records an attempt, and schedules the next one after a failure. */
export function recordAttempt(domain: Domain, delivery: Delivery, attempt: Attempt): void {
  const { state, nowMs, notifyChange } = domain;
  delivery.attempts.push(attempt);
  delete delivery.nextAttemptAt;
  const { status } = attempt;
  if (status !== undefined && status >= 200 && status < 300) delivery.state = "delivered";
  else {
    delivery.failures += 1;
    const isStopped = delivery.state !== "pending"; // the endpoint was deleted during the attempt
    const delayMs = isStopped ? undefined : retryDelaysMs[delivery.failures - 1];
    if (delayMs === undefined) delivery.state = "failed";
    else delivery.nextAttemptAt = toIso(nowMs() + delayMs);
  }
  if (delivery.isResent) restart(domain, delivery);
  if (delivery.state !== "pending") state.pendingDeliveryIds.delete(delivery.id);
  notifyChange({ attempted: delivery });
}

/** Starts a delivery again, as "Resend" in the console does: due at once, with all retries. */
export function restartDelivery(
  domain: Domain,
  deliveryId: string,
  isInProgress: (delivery: Delivery) => boolean,
): Delivery {
  const delivery = getById(domain.state.deliveries, deliveryId, "delivery");
  if (!domain.state.endpoints.has(delivery.endpointId))
    throw new RangeError("The endpoint of this delivery was deleted.");
  if (isInProgress(delivery)) delivery.isResent = true;
  else restart(domain, delivery);
  domain.state.pendingDeliveryIds.add(delivery.id);
  domain.notifyChange();
  return delivery;
}

function restart({ nowMs }: Domain, delivery: Delivery): void {
  delete delivery.isResent;
  Object.assign(delivery, { state: "pending", failures: 0, nextAttemptAt: toIso(nowMs()) });
}

/** Marks the pending deliveries of an endpoint as failed. An attempt in progress is the last one. */
export function failPendingDeliveries(domain: Domain, endpointId: string): void {
  for (const delivery of listPending(domain.state)) {
    if (delivery.endpointId !== endpointId) continue;
    delivery.state = "failed";
    delete delivery.nextAttemptAt;
    delete delivery.isResent;
    domain.state.pendingDeliveryIds.delete(delivery.id);
    domain.notifyChange();
  }
}

export const listPending = ({ deliveries, pendingDeliveryIds }: State): Delivery[] =>
  Array.from(pendingDeliveryIds, (id) => deliveries.get(id) as Delivery);

export function findDeliveries({ state }: Domain, filter: DeliveryFilter & { id?: string }): Delivery[] {
  const wanted = Object.entries(filter) as [keyof DeliveryFilter, string][];
  return [...state.deliveries.values()].filter((delivery) =>
    wanted.every(([member, value]) => value === undefined || delivery[member] === value),
  );
}

const toIso = (atMs: number) => new Date(atMs).toISOString();
