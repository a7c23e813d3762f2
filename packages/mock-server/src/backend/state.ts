/** The state of the service as plain data, so that it can be copied, restored, reset and written to a file. */
import type { DeliveryStore } from "../delivery/deliveries.ts";
import type { EndpointStore } from "../delivery/endpoints.ts";
import type { EventStore } from "../delivery/outbox.ts";
import type { ApiKeyStore } from "../domain/api-keys.ts";
import type { CardStore } from "../domain/cards.ts";
import type { CustomerStore } from "../domain/customers.ts";
import type { IdempotencyStore } from "../domain/idempotency.ts";
import type { LedgerStore } from "../domain/ledger.ts";
import type { TemplateStore } from "../domain/templates.ts";
import type { WarningStore } from "../domain/warnings.ts";
import type { FaultStore } from "../faults/rules.ts";

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
