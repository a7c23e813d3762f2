/** Outbox: stores each event, and creates a delivery for each endpoint that selected its type. */
import type { Domain } from "../domain/context.ts";
import { type FaultStore, takeDeliveryFault } from "../faults/rules.ts";
import {
  createDelivery,
  type Delivery,
  type DeliveryStore,
  holdBack,
  type ServiceEvent,
} from "./deliveries.ts";
import type { Endpoint, EndpointStore } from "./endpoints.ts";

export interface EventStore {
  /** The newest events, oldest first. */
  recentEvents: ServiceEvent[];
}

export type OutboxStore = EventStore & EndpointStore & DeliveryStore & FaultStore;

type Schedule = (delivery: Delivery) => void;

const maxRecentEvents = 1_000;
const maxHoldBackMs = 1_000;

export function publishEvent(domain: Domain<OutboxStore>, event: ServiceEvent, schedule: Schedule): void {
  storeEvent(domain, event);
  for (const endpoint of domain.state.endpoints.values()) {
    if (endpoint.events.includes(event.type)) sendToEndpoint(domain, event, endpoint, schedule);
  }
}

export function storeEvent(
  { state: { recentEvents }, notifyChange }: Domain<EventStore>,
  event: ServiceEvent,
): void {
  recentEvents.push(event);
  notifyChange({ type: "event", id: event.id, action: "created" });
  if (recentEvents.length >= 2 * maxRecentEvents) recentEvents.splice(0, maxRecentEvents); // at twice the limit, so that it seldom copies
}

/** Creates the delivery of an event to one endpoint. Injected faults duplicate it or hold it back. */
export function sendToEndpoint(
  domain: Domain<OutboxStore>,
  event: ServiceEvent,
  { id: endpointId }: Endpoint,
  schedule: Schedule,
): Delivery {
  const target = { type: event.type, endpointId };
  const body = JSON.stringify(event); // serialized once: every attempt sends the same text
  const delivery = createDelivery(domain, event, endpointId, body);
  if (takeDeliveryFault(domain, "reorder", target)) holdBack(domain, delivery, maxHoldBackMs);
  schedule(delivery);
  if (takeDeliveryFault(domain, "duplicate", target)) {
    schedule(createDelivery(domain, event, endpointId, body));
  }
  return delivery;
}
