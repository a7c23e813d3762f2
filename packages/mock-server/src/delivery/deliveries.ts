/** Deliveries: one event on its way to one endpoint, with every attempt on record (spec 3.2). */
import { NotFoundError } from "../domain/not-found.ts";
import type { Domain, EventType, Surroundings } from "../domain/surroundings.ts";
import { nextAttemptAtMs } from "./schedule.ts";

/** One request of a delivery, and what it met. */
export interface Attempt {
  /** When it began, by the service's clock; ISO 8601. */
  at: string;
  /** The time in the signature; ISO 8601, whole seconds. */
  signedAt: string;
  /** Whose time that is: over HTTP the machine's, so that a real receiver's tolerance holds under time travel. */
  signedWith: "service" | "machine";
  /** What the receiver answered. */
  status?: number;
  /** Why there was no answer. */
  error?: string;
  durationMs: number;
}

/** One event on its way to one endpoint (spec 3.2). */
export interface Delivery {
  /** The value of `Service-Delivery`, the same for every attempt. */
  id: string;
  eventId: string;
  type: EventType;
  endpointId: string;
  state: "pending" | "delivered" | "failed";
  attempts: Attempt[];
  /** ISO 8601; absent when no attempt is to come. */
  nextAttemptAt?: string;
  /** The exact text that is sent and signed each time. */
  body: string;
  /** Failures since it was sent or resent. */
  failures: number;
  /** Waits until another event has overtaken it; at the latest for `nextAttemptAt`. */
  isHeldBack?: true;
  /** It was resent while an attempt was under way: whatever that one brings, another follows. */
  isResent?: true;
}

export interface DeliveryStore {
  deliveries: Map<string, Delivery>;
  /** The deliveries that are neither delivered nor failed. */
  pendingDeliveryIds: Set<string>;
}

/** An attempt that was made, with the delivery it belongs to. */
export interface FiredAttempt extends Attempt {
  deliveryId: string;
  eventId: string;
  type: EventType;
}

/** All that are given must hold. */
export interface DeliveryFilter {
  endpointId?: string;
  eventId?: string;
  type?: EventType;
  state?: Delivery["state"];
}

/** What the service tells: the body of a webhook. */
export interface ServiceEvent {
  id: string;
  type: EventType;
  /** ISO 8601. */
  createdAt: string;
  data: unknown;
}

export function createEvent(
  { newEventId, nowMs }: Surroundings,
  type: EventType,
  data: unknown,
): ServiceEvent {
  return { id: newEventId(), type, createdAt: iso(nowMs()), data };
}

/** Puts an event on its way to an endpoint; its first attempt is due at once. */
export function createDelivery(
  { state, newIdentifier, nowMs, tell }: Domain<DeliveryStore>,
  event: Pick<ServiceEvent, "id" | "type">,
  endpointId: string,
  body: string,
): Delivery {
  const delivery: Delivery = {
    id: newIdentifier("dlv"),
    eventId: event.id,
    type: event.type,
    endpointId,
    state: "pending",
    attempts: [],
    nextAttemptAt: iso(nowMs()),
    body,
    failures: 0,
  };
  state.deliveries.set(delivery.id, delivery);
  state.pendingDeliveryIds.add(delivery.id);
  tell({ type: "delivery", id: delivery.id, action: "created" });
  return delivery;
}

/** Records an attempt and decides what comes next. */
export function settle(
  { state, nowMs, tell }: Domain<DeliveryStore>,
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
    const isStopped = delivery.state !== "pending"; // the endpoint was deleted meanwhile
    const nextMs = isStopped ? undefined : nextAttemptAtMs(delivery.failures, nowMs());
    if (nextMs === undefined) delivery.state = "failed";
    else delivery.nextAttemptAt = iso(nextMs);
  }
  if (delivery.isResent) {
    delete delivery.isResent;
    Object.assign(delivery, { state: "pending", failures: 0, nextAttemptAt: iso(nowMs()) });
  }
  if (delivery.state !== "pending") state.pendingDeliveryIds.delete(delivery.id);
  tell({ type: "delivery", id: delivery.id, action: "changed" });
}

/** Sends a delivery once more, as the console's "Resend" does: due at once, with all retries before it. */
export function renew(
  { state, nowMs, tell }: Domain<DeliveryStore>,
  deliveryId: string,
  isUnderWay: (delivery: Delivery) => boolean,
): Delivery {
  const delivery = state.deliveries.get(deliveryId);
  if (delivery === undefined) throw new NotFoundError(`There is no delivery "${deliveryId}".`);
  if (isUnderWay(delivery)) delivery.isResent = true;
  else Object.assign(delivery, { state: "pending", failures: 0, nextAttemptAt: iso(nowMs()) });
  delete delivery.isHeldBack;
  state.pendingDeliveryIds.add(delivery.id);
  tell({ type: "delivery", id: delivery.id, action: "changed" });
  return delivery;
}

/** Ends what is pending for an endpoint, as failed; an attempt that is under way is its last. */
export function stopDeliveries({ state, tell }: Domain<DeliveryStore>, endpointId: string): void {
  for (const id of [...state.pendingDeliveryIds]) {
    const delivery = state.deliveries.get(id);
    if (delivery?.endpointId !== endpointId) continue;
    delivery.state = "failed";
    delete delivery.nextAttemptAt;
    delete delivery.isHeldBack;
    delete delivery.isResent;
    state.pendingDeliveryIds.delete(id);
    tell({ type: "delivery", id, action: "changed" });
  }
}

/** Holds a new delivery back until another event has overtaken it, or for this long. */
export function holdBack({ nowMs }: Surroundings, delivery: Delivery, forMs: number): void {
  Object.assign(delivery, { isHeldBack: true, nextAttemptAt: iso(nowMs() + forMs) });
}

/** Lets what was held back for an endpoint go. */
export function letGo({ state, nowMs, tell }: Domain<DeliveryStore>, endpointId: string): Delivery[] {
  const held: Delivery[] = [];
  for (const id of state.pendingDeliveryIds) {
    const delivery = state.deliveries.get(id);
    if (delivery?.isHeldBack && delivery.endpointId === endpointId) held.push(delivery);
  }
  for (const delivery of held) {
    delete delivery.isHeldBack;
    delivery.nextAttemptAt = iso(nowMs());
    tell({ type: "delivery", id: delivery.id, action: "changed" });
  }
  return held;
}

export function matching({ state }: Domain<DeliveryStore>, filter: DeliveryFilter): Delivery[] {
  const wanted = Object.entries(filter) as [keyof DeliveryFilter, string][];
  return [...state.deliveries.values()].filter((delivery) =>
    wanted.every(([member, value]) => value === undefined || delivery[member] === value),
  );
}

const iso = (atMs: number) => new Date(atMs).toISOString();
