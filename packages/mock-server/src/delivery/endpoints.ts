/** Where events are sent, which ones, and under which secret (spec 5.4, 6). */

import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { isLoopback } from "../domain/loopback.ts";
import { NotFoundError } from "../domain/not-found.ts";
import type { Domain, EventType } from "../domain/surroundings.ts";

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
  { state, newIdentifier, tell }: Domain<EndpointStore>,
  { url, events }: EndpointInput,
  seeded: Partial<EndpointSecret> = {},
): EndpointSecret {
  if (!URL.canParse(url)) throw new TypeError(`The endpoint's url "${url}" is not a URL.`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new TypeError("An endpoint's url must not have a user or a password.");
  if (!isAllowed(new URL(url))) {
    throw new TypeError("An endpoint must be https://; http:// is allowed to this machine only."); // spec 6.3.5
  }
  if (!Array.isArray(events) || events.length === 0) throw new TypeError("Choose at least one event.");
  for (const type of events) {
    if (!eventTypes.includes(type)) {
      throw new TypeError(`There is no event "${type}"; there are ${eventTypes.join(", ")}.`);
    }
  }
  const { id = newIdentifier("we"), secret = newIdentifier("whsec") } = seeded;
  const endpoint: Endpoint = { id, url, events: [...events], secret };
  state.endpoints.set(endpoint.id, endpoint);
  tell({ type: "endpoint", id, action: "created" });
  return { id: endpoint.id, secret: endpoint.secret };
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

function isAllowed({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
