/** Deliveries: one event sent to one endpoint, with every attempt and the retry schedule (spec 3.2). */

import { type Domain, type DomainContext, type EventType, NotFoundError } from "../domain/context.ts";

/** One request of a delivery, and its result. */
export interface Attempt {
  /** When it started, by the clock of the service; ISO 8601. */
  at: string;
  /** The time in the signature; ISO 8601, whole seconds. */
  signedAt: string;
  /** The clock of `signedAt`. Over HTTP it is real time: a moved service clock would exceed the tolerance of a real receiver. */
  signedWith: "service" | "machine";
  /** The `Service-Signature` header of the request. Absent when no request was sent. */
  signature?: string;
  /** The status of the response. */
  status?: number;
  /** The start of the response's body, at most 1 000 characters. Absent when it is empty. */
  responseBody?: string;
  /** Why there was no response. */
  error?: string;
  durationMs: number;
}

/** One event sent to one endpoint ([spec 3.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-2)). */
export interface Delivery {
  /** The value of `Service-Delivery`, the same for every attempt. */
  id: string;
  eventId: string;
  type: EventType;
  endpointId: string;
  state: "pending" | "delivered" | "failed";
  attempts: Attempt[];
  /** ISO 8601; absent when no further attempt follows. */
  nextAttemptAt?: string;
  /** The exact text that is sent and signed each time. */
  body: string;
  /** Failed attempts since the delivery was created or resent. */
  failures: number;
  /** The first attempt waits until another event was sent to the endpoint, at most until `nextAttemptAt`. */
  isHeldBack?: true;
  /** The delivery was resent during an attempt: another attempt follows, whatever the result of that one. */
  isResent?: true;
}

export interface DeliveryStore {
  deliveries: Map<string, Delivery>;
  /** The deliveries in state `pending`. */
  pendingDeliveryIds: Set<string>;
}

/** An attempt, with its delivery and event. */
export interface AttemptRecord extends Attempt {
  deliveryId: string;
  eventId: string;
  type: EventType;
}

/** All members that are present must match. */
export type DeliveryFilter = Partial<Pick<Delivery, "endpointId" | "eventId" | "type" | "state">>;

/** The body of a webhook. */
export interface ServiceEvent {
  id: string;
  type: EventType;
  /** ISO 8601. */
  createdAt: string;
  data: unknown;
}

export function createEvent(
  { generateEventId: newEventId, nowMs }: DomainContext,
  type: EventType,
  data: unknown,
): ServiceEvent {
  return { id: newEventId(), type, createdAt: toIso(nowMs()), data };
}

/** Creates a delivery of an event to an endpoint. Its first attempt is due at once. */
export function createDelivery(
  { state, generateId, nowMs, notifyChange }: Domain<DeliveryStore>,
  event: Pick<ServiceEvent, "id" | "type">,
  endpointId: string,
  body: string,
): Delivery {
  const delivery: Delivery = {
    id: generateId("dlv"),
    eventId: event.id,
    type: event.type,
    endpointId,
    state: "pending",
    attempts: [],
    nextAttemptAt: toIso(nowMs()),
    body,
    failures: 0,
  };
  state.deliveries.set(delivery.id, delivery);
  state.pendingDeliveryIds.add(delivery.id);
  notifyChange({ type: "delivery", id: delivery.id, action: "created" });
  return delivery;
}

/** Records an attempt, and schedules the next one after a failure. */
export function recordAttempt(
  { state, nowMs, notifyChange }: Domain<DeliveryStore>,
  delivery: Delivery,
  attempt: Attempt,
): void {
  delivery.attempts.push(attempt);
  delete delivery.nextAttemptAt;
  const { status } = attempt;
  if (status !== undefined && status >= 200 && status < 300) {
    delivery.state = "delivered";
  } else {
    delivery.failures += 1;
    const isStopped = delivery.state !== "pending"; // the endpoint was deleted during the attempt
    const nextMs = isStopped ? undefined : getNextAttemptMs(delivery.failures, nowMs());
    if (nextMs === undefined) delivery.state = "failed";
    else delivery.nextAttemptAt = toIso(nextMs);
  }
  if (delivery.isResent) {
    delete delivery.isResent;
    Object.assign(delivery, { state: "pending", failures: 0, nextAttemptAt: toIso(nowMs()) });
  }
  if (delivery.state !== "pending") state.pendingDeliveryIds.delete(delivery.id);
  notifyChange({ type: "delivery", id: delivery.id, action: "changed" });
}

/** Starts a delivery again, as "Resend" in the console does: due at once, with all retries. */
export function restartDelivery(
  { state, nowMs, notifyChange }: Domain<DeliveryStore>,
  deliveryId: string,
  isUnderWay: (delivery: Delivery) => boolean,
): Delivery {
  const delivery = state.deliveries.get(deliveryId);
  if (delivery === undefined) throw new NotFoundError(`There is no delivery "${deliveryId}".`);
  if (isUnderWay(delivery)) delivery.isResent = true;
  else Object.assign(delivery, { state: "pending", failures: 0, nextAttemptAt: toIso(nowMs()) });
  delete delivery.isHeldBack;
  state.pendingDeliveryIds.add(delivery.id);
  notifyChange({ type: "delivery", id: delivery.id, action: "changed" });
  return delivery;
}

/** Marks the pending deliveries of an endpoint as failed. An attempt in progress is the last one. */
export function failPendingDeliveries(
  { state, notifyChange }: Domain<DeliveryStore>,
  endpointId: string,
): void {
  for (const id of [...state.pendingDeliveryIds]) {
    const delivery = state.deliveries.get(id);
    if (delivery?.endpointId !== endpointId) continue;
    delivery.state = "failed";
    delete delivery.nextAttemptAt;
    delete delivery.isHeldBack;
    delete delivery.isResent;
    state.pendingDeliveryIds.delete(id);
    notifyChange({ type: "delivery", id, action: "changed" });
  }
}

/** Holds a new delivery back until another event was sent to the endpoint, at most for this time. */
export function holdBack({ nowMs }: DomainContext, delivery: Delivery, forMs: number): void {
  Object.assign(delivery, { isHeldBack: true, nextAttemptAt: toIso(nowMs() + forMs) });
}

/** Releases the deliveries that were held back for an endpoint. */
export function releaseHeldBack(
  { state, nowMs, notifyChange }: Domain<DeliveryStore>,
  endpointId: string,
): Delivery[] {
  const held: Delivery[] = [];
  for (const id of state.pendingDeliveryIds) {
    const delivery = state.deliveries.get(id);
    if (delivery?.isHeldBack && delivery.endpointId === endpointId) held.push(delivery);
  }
  for (const delivery of held) {
    delete delivery.isHeldBack;
    delivery.nextAttemptAt = toIso(nowMs());
    notifyChange({ type: "delivery", id: delivery.id, action: "changed" });
  }
  return held;
}

export function findDeliveries({ state }: Domain<DeliveryStore>, filter: DeliveryFilter): Delivery[] {
  const wanted = Object.entries(filter) as [keyof DeliveryFilter, string][];
  return [...state.deliveries.values()].filter((delivery) =>
    wanted.every(([member, value]) => value === undefined || delivery[member] === value),
  );
}

const toIso = (atMs: number) => new Date(atMs).toISOString();

/** 1 minute, 5 minutes, 30 minutes, 2 hours, 6 hours; each after the previous failure. */
export const retryDelaysMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];

/** The time of the next attempt; undefined after the last one. */
export function getNextAttemptMs(failures: number, failedAtMs: number): number | undefined {
  const pauseMs = retryDelaysMs[failures - 1];
  return pauseMs === undefined ? undefined : failedAtMs + pauseMs;
}
