/** Sends what happened to the endpoints that chose it, and remembers it for those who wait. */
import type { Domain } from "../domain/surroundings.ts";
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

export const remembered = 1_000;
const heldBackMs = 1_000;

export function publish(domain: Domain<OutboxStore>, event: ServiceEvent, schedule: Schedule): void {
  remember(domain, event);
  for (const endpoint of domain.state.endpoints.values()) {
    if (endpoint.events.includes(event.type)) send(domain, event, endpoint, schedule);
  }
}

export function remember({ state: { recentEvents }, tell }: Domain<EventStore>, event: ServiceEvent): void {
  recentEvents.push(event);
  tell({ type: "event", id: event.id, action: "created" });
  if (recentEvents.length >= 2 * remembered) recentEvents.splice(0, remembered); // seldom, so that it is cheap
}

/** Puts an event on its way to one endpoint, by the rules for faults: twice, or after the next one. */
export function send(
  domain: Domain<OutboxStore>,
  event: ServiceEvent,
  { id: endpointId }: Endpoint,
  schedule: Schedule,
): Delivery {
  const target = { type: event.type, endpointId };
  const body = JSON.stringify(event); // written once: every attempt sends these characters
  const delivery = createDelivery(domain, event, endpointId, body);
  if (takeDeliveryFault(domain, "reorder", target)) holdBack(domain, delivery, heldBackMs);
  schedule(delivery);
  if (takeDeliveryFault(domain, "duplicate", target)) {
    schedule(createDelivery(domain, event, endpointId, body));
  }
  return delivery;
}
