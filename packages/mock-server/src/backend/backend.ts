/** The service behind its HTTP surface: its state, clock, deliveries and request log. */
import type { components } from "@loyalty-cards/openapi/control";
import type { DeliveryTransport } from "../delivery/attempt.ts";
import { createEvent, type Delivery, restartDelivery } from "../delivery/deliveries.ts";
import { createDispatcher, type Dispatcher } from "../delivery/dispatcher.ts";
import { createEndpoint, getEndpoint } from "../delivery/endpoints.ts";
import { publishEvent, sendToEndpoint, storeEvent } from "../delivery/outbox.ts";
import { type ApiKeyKind, createApiKey, seededApiKeys } from "../domain/api-keys.ts";
import { type ChangeNotifier, createChangeNotifier, type Domain } from "../domain/context.ts";
import { createEventIds, type EventIds } from "../domain/identifiers.ts";
import { createTemplate } from "../domain/templates.ts";
import type { Settings } from "./options.ts";
import { createServiceClock, type ServiceClock } from "./service-clock.ts";
import { createEmptyState, type State } from "./state.ts";

/** A request to the API, as `GET /_mock/requests` returns it. */
export type LoggedRequest = components["schemas"]["LoggedRequest"];

export interface Backend {
  readonly settings: Settings;
  readonly domain: Domain<State>;
  readonly dispatcher: Dispatcher;
  readonly clock: ServiceClock;
  readonly changes: ChangeNotifier;
  readonly eventIds: EventIds;
  /** The newest requests to the API, oldest first. Not part of the state: a snapshot and a data file do not contain them. */
  readonly requests: LoggedRequest[];
  /** Sends a `ping`, as "Send test" in the console does. */
  sendTest(endpointId: string): Delivery;
  /** Starts a delivery again, as "Resend" in the console does. */
  resend(deliveryId: string): Delivery;
  /** Restores the seeded state. */
  reset(): void;
  snapshot(): State;
  restore(state: State): void;
}

export function createBackend(settings: Settings): Backend {
  const { clock, deliver, wallClockMs, deliveryTimeoutMs } = settings;
  const holder = { clock };
  const changes = createChangeNotifier();
  const nowMs = () => holder.clock.now();
  /** Not part of the state, so that a reset or a restore does not repeat event ids. */
  const eventIds = createEventIds(nowMs, settings.generateId);

  const domain: Domain<State> = {
    ...settings,
    state: createEmptyState(),
    nowMs,
    generateEventId: eventIds.next,
    notifyChange: changes.notify,
    emit(type, data) {
      publishEvent(domain, createEvent(domain, type, data), dispatcher.schedule);
    },
  };
  // Over HTTP a real receiver compares `t` with real time, wherever this clock was moved to.
  const isOverHttp = deliver === undefined;
  const transport: DeliveryTransport = {
    deliver: deliver ?? ((request) => fetch(request)),
    signedWith: isOverHttp ? "machine" : "service",
    signingTimeMs: isOverHttp ? wallClockMs : nowMs,
    deliveryTimeoutMs,
  };
  const dispatcher = createDispatcher(domain, () => holder.clock, transport);

  function replace(state: State): void {
    domain.state = state;
    eventIds.continueAfter(state.recentEvents.at(-1)?.id);
    dispatcher.reload();
    changes.notify({ type: "reset" });
  }

  function seed(): State {
    const seeded = createEmptyState();
    const silent: Domain<State> = { ...domain, state: seeded, notifyChange: () => {} };
    for (const kind of ["website", "full"] satisfies ApiKeyKind[])
      createApiKey(silent, { kind }, seededApiKeys[kind]);
    for (const template of settings.templates) createTemplate(silent, template);
    for (const endpoint of settings.endpoints) createEndpoint(silent, endpoint, endpoint);
    return seeded;
  }
  domain.state = seed();
  const requests: LoggedRequest[] = [];

  return {
    settings,
    domain,
    dispatcher,
    clock: createServiceClock(holder, dispatcher, domain),
    changes,
    eventIds,
    requests,
    sendTest(endpointId) {
      const endpoint = getEndpoint(domain, endpointId);
      const event = createEvent(domain, "ping", {});
      storeEvent(domain, event);
      return sendToEndpoint(domain, event, endpoint, dispatcher.schedule);
    },
    resend(deliveryId) {
      const sent = domain.state.deliveries.get(deliveryId);
      if (sent !== undefined && !domain.state.endpoints.has(sent.endpointId)) {
        throw new RangeError("The endpoint of this delivery was deleted.");
      }
      const delivery = restartDelivery(domain, deliveryId, dispatcher.isInProgress);
      dispatcher.schedule(delivery);
      return delivery;
    },
    reset() {
      requests.length = 0;
      replace(seed());
    },
    snapshot: () => structuredClone(domain.state),
    restore: (state) => replace(structuredClone(state)),
  };
}
