/** One world: a state of its own, with the rules, the clock and the deliveries that work on it. */
import type { Deliver, Transport } from "./delivery/attempt.ts";
import { createEvent, type Delivery, renew } from "./delivery/deliveries.ts";
import { createDispatcher, type Dispatcher } from "./delivery/dispatcher.ts";
import { createEndpoint, existingEndpoint } from "./delivery/endpoints.ts";
import { publish, remember, send } from "./delivery/outbox.ts";
import { type ServiceClock, serviceClock } from "./delivery/service-clock.ts";
import { type ApiKeyKind, createApiKey } from "./domain/api-keys.ts";
import { type ChangeFeed, changeFeed } from "./domain/changes.ts";
import type { Clock } from "./domain/clock.ts";
import { createEventIds, type EventIds } from "./domain/identifier.ts";
import { emptyState, type State } from "./domain/state.ts";
import type { Domain } from "./domain/surroundings.ts";
import { createTemplate } from "./domain/templates.ts";
import type { Settings } from "./options.ts";

export interface WorldIdentity {
  id: string;
  /** The keys it begins with, and has again after a reset. */
  apiKeys: Readonly<Record<ApiKeyKind, string>>;
}

export interface World extends WorldIdentity {
  readonly domain: Domain<State>;
  readonly dispatcher: Dispatcher;
  readonly clock: ServiceClock;
  readonly changes: ChangeFeed;
  readonly eventIds: EventIds;
  /** A `ping`, as the console's "Send test" does. */
  sendTest(endpointId: string): Delivery;
  /** Once more, as the console's "Resend" does. */
  resend(deliveryId: string): Delivery;
  /** Back to the seed. */
  reset(): void;
  snapshot(): State;
  restore(state: State): void;
}

export interface WorldSettings extends Settings {
  clock: Clock;
  deliver: Deliver | undefined;
  /** Looks at every event before it is sent; strict services do. */
  inspect?: ((type: string, event: unknown) => void) | undefined;
}

export function createWorld(identity: WorldIdentity, settings: WorldSettings): World {
  const { newIdentifier, baseUrl, defaultCountry, wallets, deliver, wallClockMs, inspect } = settings;
  const { allowPrivateEndpoints, storeRefusals, log } = settings;
  const holder = { clock: settings.clock };
  const changes = changeFeed();
  const nowMs = () => holder.clock.now();
  /** Not part of the state: a reset or a restore does not take event ids back. */
  const eventIds = createEventIds(nowMs, newIdentifier);

  const domain: Domain<State> = {
    state: emptyState(),
    nowMs,
    newIdentifier,
    newEventId: eventIds.next,
    baseUrl,
    defaultCountry,
    wallets,
    allowPrivateEndpoints,
    storeRefusals,
    log,
    tell: changes.tell,
    emit(type, data) {
      const event = createEvent(domain, type, data);
      inspect?.(type, event);
      publish(domain, event, dispatcher.schedule);
    },
  };
  // Over HTTP a real receiver compares `t` with the real time, however far this clock has travelled.
  const isOverHttp = deliver === undefined;
  const transport: Transport = {
    deliver: deliver ?? ((request) => fetch(request)),
    signedWith: isOverHttp ? "machine" : "service",
    signingTimeMs: isOverHttp ? wallClockMs : nowMs,
    answerWithinMs: settings.answerWithinMs,
  };
  const dispatcher = createDispatcher(domain, () => holder.clock, transport);

  function replace(state: State): void {
    domain.state = state;
    eventIds.continueAfter(state.recentEvents.at(-1)?.id);
    dispatcher.reload();
    changes.tell({ type: "reset" });
  }

  function seed(): State {
    const seeded = emptyState();
    const silent: Domain<State> = { ...domain, state: seeded, tell: () => {} };
    for (const kind of ["website", "full"] as const) createApiKey(silent, { kind }, identity.apiKeys[kind]);
    for (const template of settings.templates) createTemplate(silent, template);
    for (const endpoint of settings.endpoints) createEndpoint(silent, endpoint, endpoint);
    return seeded;
  }
  domain.state = seed();

  return {
    ...identity,
    domain,
    dispatcher,
    clock: serviceClock(holder, dispatcher, domain),
    changes,
    eventIds,
    sendTest(endpointId) {
      const endpoint = existingEndpoint(domain, endpointId);
      const event = createEvent(domain, "ping", {});
      inspect?.("ping", event);
      remember(domain, event);
      return send(domain, event, endpoint, dispatcher.schedule);
    },
    resend(deliveryId) {
      const sent = domain.state.deliveries.get(deliveryId);
      if (sent !== undefined && !domain.state.endpoints.has(sent.endpointId)) {
        throw new RangeError("The endpoint of this delivery was deleted.");
      }
      const delivery = renew(domain, deliveryId, dispatcher.isUnderWay);
      dispatcher.schedule(delivery);
      return delivery;
    },
    reset: () => replace(seed()),
    snapshot: () => structuredClone(domain.state),
    restore: (state) => replace(structuredClone(state)),
  };
}
