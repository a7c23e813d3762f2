/** Webhook endpoints: address, selected events and signing secret (spec 5.4, 6). */
import { canForwardTo, isLoopback, isPrivate } from "@loyalty-cards/internal/hostnames";
import type { components } from "@loyalty-cards/openapi/control";
import { isEndpointChange, isEndpointInput } from "@loyalty-cards/openapi/control-validators";
import { type Domain, getById } from "../domain/context.ts";
import { InputError } from "../domain/errors.ts";
import { generateId } from "../domain/ids.ts";
import type { Endpoint } from "../domain/state.ts";
import { validateInput } from "../domain/validation.ts";
import { failPendingDeliveries } from "./deliveries.ts";

/** The address of a receiver, and the event types that it gets. A test event is always sent. */
export type EndpointInput = components["schemas"]["EndpointInput"];

/** @throws {TypeError} for an address or an event that is not allowed. */
export function createEndpoint(domain: Domain, input: EndpointInput): Endpoint {
  const { state, notifyChange } = domain;
  checkEndpoint(domain, input);
  const { url, events } = input;
  const endpoint = completeEndpoint({ url, events: [...events] });
  state.endpoints.set(endpoint.id, endpoint);
  notifyChange();
  return structuredClone(endpoint);
}

/** An endpoint of the options or of a file. */
interface GivenEndpoint extends EndpointInput {
  id?: string;
  secret?: string | undefined;
  secretReplacedAt?: string;
}

/** Generates the id and the secret that an endpoint does not have. */
export const completeEndpoint = (endpoint: GivenEndpoint): Endpoint => ({
  id: generateId("we"),
  ...endpoint,
  secret: endpoint.secret ?? generateId("whsec"),
});

/**
 * The endpoints that are given, then the others. A given one takes the place of the one with its
 * address or id, and has the id and secret of that one unless it has its own. One of a data file,
 * which has an id, keeps its events: they may be a selection that was made in the console.
 */
export function mergeEndpoints(
  given: readonly GivenEndpoint[],
  others: readonly GivenEndpoint[],
): GivenEndpoint[] {
  const merged = given.map((endpoint) => {
    const known = others.find((other) => haveSameAddress(other, endpoint));
    const secret = endpoint.secret ?? known?.secret;
    const { events } = known?.id === undefined ? endpoint : known;
    const result: GivenEndpoint = { ...known, ...endpoint, events, secret };
    const isOfOtherSecret = secret !== known?.secret && endpoint.secretReplacedAt === undefined;
    if (isOfOtherSecret) delete result.secretReplacedAt;
    return result;
  });
  const isReplaced = (other: GivenEndpoint) =>
    merged.some(
      (endpoint) =>
        haveSameAddress(endpoint, other) || (endpoint.id !== undefined && endpoint.id === other.id),
    );
  return [...merged, ...others.filter((other) => !isReplaced(other))];
}

/** `https://shop.test` and `https://shop.test/` are the same address. */
export const haveSameAddress = (one: EndpointInput, other: EndpointInput): boolean =>
  toHref(one.url) === toHref(other.url);

const toHref = (url: string) => (URL.canParse(url) ? new URL(url).href : url);

/**
 * Changes the address, the events or both. The secret stays. Deliveries that are still pending go
 * to the new address.
 * @throws {TypeError} for an address or an event that is not allowed.
 */
export function updateEndpoint(
  domain: Domain,
  endpointId: string,
  change: Partial<EndpointInput>,
): Endpoint {
  const valid = validateInput(isEndpointChange, change, "The change");
  const endpoint = getEndpoint(domain, endpointId);
  const { url = endpoint.url, events = endpoint.events } = valid;
  checkEndpoint(domain, { url, events });
  Object.assign(endpoint, { url, events: [...events] });
  domain.notifyChange();
  return structuredClone(endpoint);
}

/** Its deliveries stay in the log. Pending ones are marked failed and are not attempted again. */
export function deleteEndpoint(domain: Domain, endpointId: string): void {
  getEndpoint(domain, endpointId);
  domain.state.endpoints.delete(endpointId);
  domain.notifyChange();
  failPendingDeliveries(domain, endpointId);
}

/** Replaces the secret at once, for pending deliveries too. */
export function replaceSecret(domain: Domain, endpointId: string): Endpoint {
  const endpoint = getEndpoint(domain, endpointId);
  endpoint.secret = generateId("whsec");
  endpoint.secretReplacedAt = new Date(domain.nowMs()).toISOString();
  domain.notifyChange();
  return structuredClone(endpoint);
}

export const getEndpoint = ({ state }: Domain, endpointId: string): Endpoint =>
  getById(state.endpoints, endpointId, "webhook endpoint");

/** @throws {TypeError} for an address or an event that is not allowed. */
export function checkEndpoint(
  { forwardTo }: Pick<Domain, "forwardTo">,
  input: EndpointInput,
): void {
  const { url } = validateInput(isEndpointInput, input, "The endpoint");
  if (!URL.canParse(url)) throw new InputError(`The endpoint's url "${url}" is not a URL.`);
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new InputError("An endpoint's url must not have a user or a password.");
  if (forwardTo !== undefined && toHref(url) === toHref(forwardTo) && canForwardTo(new URL(url)))
    return;
  // spec 6.3.5: public HTTPS addresses. Loopback addresses are allowed too, for development.
  if (isLoopback(hostname) && (protocol === "https:" || protocol === "http:")) return;
  if (protocol !== "https:")
    throw new InputError(
      "An endpoint must be https://; http:// is allowed for loopback addresses only.",
    );
  if (isPrivate(hostname))
    throw new InputError(
      `An endpoint must have a public address, and "${hostname}" is in a private network.`,
    );
}
