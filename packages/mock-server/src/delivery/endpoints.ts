/** Where events are sent, which ones, and under which secret (spec 5.4, 6). */

import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { isLoopback, isPrivate } from "../domain/loopback.ts";
import { NotFoundError } from "../domain/not-found.ts";
import type { Domain, EventType, Surroundings } from "../domain/surroundings.ts";
import { type DeliveryStore, stopDeliveries } from "./deliveries.ts";

export interface Endpoint {
  id: string;
  url: string;
  events: readonly EventType[];
  secret: string;
}

export interface EndpointStore {
  endpoints: Map<string, Endpoint>;
}

/** Where to send events, and which. */
export interface EndpointInput {
  url: string;
  /** The chosen events. A test is sent whatever is chosen. */
  events: readonly EventType[];
}

/** An endpoint without its secret, which is shown once. */
export type WebhookEndpoint = Pick<Endpoint, "id" | "url" | "events">;

/** What is shown once. */
export interface EndpointSecret {
  id: string;
  secret: string;
}

export const eventTypes = Object.keys(openapi.webhooks) as EventType[];

/**
 * @param seeded what an endpoint of the seed is called, and keeps as its secret.
 * @throws {TypeError} for an address or an event that the service would not take.
 */
export function createEndpoint(
  domain: Domain<EndpointStore>,
  { url, events }: EndpointInput,
  seeded: Partial<EndpointSecret> = {},
): EndpointSecret {
  const { state, newIdentifier, tell } = domain;
  checkUrl(domain, url);
  checkEvents(events);
  const { id = newIdentifier("we"), secret = newIdentifier("whsec") } = seeded;
  const endpoint: Endpoint = { id, url, events: [...events], secret };
  state.endpoints.set(endpoint.id, endpoint);
  tell({ type: "endpoint", id, action: "created" });
  return { id: endpoint.id, secret: endpoint.secret };
}

/**
 * Changes the address, the events or both. The secret stays. Deliveries that are still pending go to the new address.
 * @throws {TypeError} for an address or an event that the service would not take.
 */
export function updateEndpoint(
  domain: Domain<EndpointStore>,
  endpointId: string,
  { url, events }: Partial<EndpointInput>,
): WebhookEndpoint {
  const endpoint = existingEndpoint(domain, endpointId);
  if (url !== undefined) checkUrl(domain, url);
  if (events !== undefined) checkEvents(events);
  if (url !== undefined) endpoint.url = url;
  if (events !== undefined) endpoint.events = [...events];
  domain.tell({ type: "endpoint", id: endpointId, action: "changed" });
  return webhookEndpoint(endpoint);
}

/** Its deliveries stay in the log; those that are pending are marked failed, and are not attempted again. */
export function deleteEndpoint(domain: Domain<EndpointStore & DeliveryStore>, endpointId: string): void {
  existingEndpoint(domain, endpointId);
  domain.state.endpoints.delete(endpointId);
  domain.tell({ type: "endpoint", id: endpointId, action: "removed" });
  stopDeliveries(domain, endpointId);
}

export const webhookEndpoint = ({ id, url, events }: Endpoint): WebhookEndpoint => ({
  id,
  url,
  events: [...events],
});

function checkUrl({ allowPrivateEndpoints }: Surroundings, url: string): void {
  if (!URL.canParse(url)) throw new TypeError(`The endpoint's url "${url}" is not a URL.`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new TypeError("An endpoint's url must not have a user or a password.");
  const { protocol, hostname } = new URL(url);
  // spec 6.3.5: public HTTPS addresses; this machine besides, because that is where programs are developed
  if (isLoopback(hostname) && (protocol === "https:" || protocol === "http:")) return;
  if (protocol !== "https:") {
    throw new TypeError("An endpoint must be https://; http:// is allowed to this machine only.");
  }
  if (!allowPrivateEndpoints && isPrivate(hostname)) {
    throw new TypeError(
      `An endpoint must have a public address, and "${hostname}" is in a private network; allowPrivateEndpoints (--allow-private-endpoints) allows it.`,
    );
  }
}

function checkEvents(events: readonly EventType[]): void {
  if (!Array.isArray(events) || events.length === 0) throw new TypeError("Choose at least one event.");
  for (const type of events) {
    if (!eventTypes.includes(type)) {
      throw new TypeError(`There is no event "${type}"; there are ${eventTypes.join(", ")}.`);
    }
  }
}

/** Replaces the secret at once, also for deliveries that are still being retried. */
export function renewSecret(domain: Domain<EndpointStore>, endpointId: string): EndpointSecret {
  const endpoint = existingEndpoint(domain, endpointId);
  endpoint.secret = domain.newIdentifier("whsec");
  domain.tell({ type: "endpoint", id: endpointId, action: "changed" });
  return { id: endpoint.id, secret: endpoint.secret };
}

export function existingEndpoint({ state }: Domain<EndpointStore>, endpointId: string): Endpoint {
  const endpoint = state.endpoints.get(endpointId);
  if (endpoint === undefined) throw new NotFoundError(`There is no webhook endpoint "${endpointId}".`);
  return endpoint;
}
