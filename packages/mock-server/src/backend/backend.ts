/** The service behind its HTTP surface: its clock, deliveries, request log, and its state as plain data, which can be copied, restored and written to a file. */
import type { components } from "@loyalty-cards/openapi/control";
import type { DeliveryTransport } from "../delivery/attempt.ts";
import { createEvent, type Delivery, type DeliveryStore, restartDelivery } from "../delivery/deliveries.ts";
import {
  createDispatcher,
  type Dispatcher,
  type EventStore,
  publishEvent,
  sendToEndpoint,
  storeEvent,
} from "../delivery/dispatcher.ts";
import { createEndpoint, type EndpointStore, getEndpoint } from "../delivery/endpoints.ts";
import { type ApiKeyKind, type ApiKeyStore, createApiKey, seededApiKeys } from "../domain/api-keys.ts";
import type { CardStore } from "../domain/cards.ts";
import {
  type ChangeNotifier,
  createChangeNotifier,
  createSortableIds,
  type Domain,
  type SortableIds,
} from "../domain/context.ts";
import type { CustomerStore } from "../domain/customers.ts";
import type { IdempotencyStore } from "../domain/idempotency.ts";
import type { LedgerStore } from "../domain/ledger.ts";
import { createTemplate, type TemplateStore } from "../domain/templates.ts";
import type { WarningStore } from "../domain/warnings.ts";
import type { FaultStore } from "../faults/rules.ts";
import type { Settings } from "./options.ts";
import { createServiceClock, type ServiceClock } from "./service-clock.ts";

/** A request to the API, as `GET /_mock/traffic` returns it. */
export type TrafficRequest = components["schemas"]["TrafficRequest"];

export interface Backend {
  readonly settings: Settings;
  readonly domain: Domain<State>;
  readonly dispatcher: Dispatcher;
  readonly clock: ServiceClock;
  readonly changes: ChangeNotifier;
  readonly ids: SortableIds;
  /** The newest requests to the API, oldest first. Not part of the state: a snapshot and a data file do not contain them. */
  readonly requests: TrafficRequest[];
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
  /** Not part of the state, so that a reset or a restore does not repeat ids. */
  const ids = createSortableIds(nowMs, settings.generateId);

  const domain: Domain<State> = {
    ...settings,
    state: createEmptyState(),
    nowMs,
    generateEventId: ids.nextEventId,
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
    ids.continueAfter(state.recentEvents.at(-1)?.id);
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
  const requests: TrafficRequest[] = [];

  return {
    settings,
    domain,
    dispatcher,
    clock: createServiceClock(holder, dispatcher, domain),
    changes,
    ids,
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

export interface State
  extends ApiKeyStore,
    TemplateStore,
    CustomerStore,
    CardStore,
    LedgerStore,
    IdempotencyStore,
    EndpointStore,
    DeliveryStore,
    EventStore,
    FaultStore,
    WarningStore {}

export function createEmptyState(): State {
  return {
    apiKeys: new Map(),
    templates: new Map(),
    customers: new Map(),
    customerIdByPhone: new Map(),
    customerIdByEmail: new Map(),
    cards: new Map(),
    cardIdBySlug: new Map(),
    operations: new Map(),
    operationIdsByCard: new Map(),
    cardIdByKey: new Map(),
    refusals: new Map(),
    endpoints: new Map(),
    deliveries: new Map(),
    pendingDeliveryIds: new Set(),
    recentEvents: [],
    faults: new Map(),
    warnings: new Map(),
  };
}

/** Whether a value has every member of a state, each of the right type: Map, Set or list. */
export function isState(value: unknown): value is State {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.entries(createEmptyState()).every(
      ([name, empty]) => getTag((value as Record<string, unknown>)[name]) === getTag(empty),
    )
  );
}

/** "[object Map]" and so on. Recognises values of another realm too, which test runners pass to structuredClone. */
const getTag = (value: unknown) => Object.prototype.toString.call(value);

/** A state as JSON can represent it: each Map as a list of its entries, each Set as a list. */
export type StateLists = Record<keyof State, unknown[]>;

export const toLists = (state: State): StateLists =>
  Object.fromEntries(Object.entries(state).map(([name, store]) => [name, [...store]])) as StateLists;

/** @throws {TypeError} for what `toLists` did not return. */
export function fromLists(lists: StateLists): State {
  const stores = Object.entries(createEmptyState()).map(([name, empty]) => {
    const list = lists[name as keyof State];
    if (!Array.isArray(list)) throw new TypeError(`it has no list "${name}"`);
    if (empty instanceof Map) return [name, new Map(list as [string, unknown][])];
    return [name, empty instanceof Set ? new Set(list) : list];
  });
  return Object.fromEntries(stores);
}
