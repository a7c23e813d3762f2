/** The state of a sandbox as plain data, so that it can be copied, restored, reset and written to a file. */
import type { Delivery, DeliveryStore, ServiceEvent } from "../delivery/deliveries.ts";
import type { Endpoint, EndpointStore } from "../delivery/endpoints.ts";
import type { EventStore } from "../delivery/outbox.ts";
import type { ApiKey, ApiKeyStore } from "../domain/api-keys.ts";
import type { CardStore, StoredCard } from "../domain/cards.ts";
import { addCardId, type Customer, type CustomerStore, normalizeEmail } from "../domain/customers.ts";
import type { IdempotencyStore, StoredRefusal } from "../domain/idempotency.ts";
import type { LedgerStore, StoredOperation } from "../domain/ledger.ts";
import type { Template, TemplateStore } from "../domain/templates.ts";
import type { Warning, WarningStore } from "../domain/warnings.ts";
import type { Fault, FaultStore } from "../faults/rules.ts";

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

/** The items of a state. All other members of a state are indexes of them. */
export interface StateItems {
  apiKeys: ApiKey[];
  templates: Template[];
  /** Without the lists of their cards, which are rebuilt from the cards. */
  customers: Omit<Customer, "cardIds">[];
  cards: StoredCard[];
  operations: StoredOperation[];
  endpoints: Endpoint[];
  deliveries: Delivery[];
  recentEvents: ServiceEvent[];
  faults: Fault[];
  refusals: StoredRefusal[];
  warnings: Warning[];
}

/** @param items each list in the order of creation. */
export function createState(items: StateItems): State {
  const state: State = { ...createEmptyState(), recentEvents: items.recentEvents };
  for (const apiKey of items.apiKeys) state.apiKeys.set(apiKey.key, apiKey);
  for (const template of items.templates) state.templates.set(template.id, template);
  for (const customer of items.customers) {
    state.customers.set(customer.id, { ...customer, cardIds: [] });
    if (customer.phone !== undefined) state.customerIdByPhone.set(customer.phone, customer.id);
    const emailKey = customer.email === undefined ? undefined : normalizeEmail(customer.email);
    if (emailKey !== undefined) state.customerIdByEmail.set(emailKey, customer.id);
  }
  for (const card of items.cards) {
    state.cards.set(card.id, card);
    state.cardIdBySlug.set(card.slug, card.id);
    const customer = state.customers.get(card.customerId);
    if (customer !== undefined) addCardId(customer, card.id);
    if (card.idempotencyKey === undefined) continue;
    state.cardIdByKey.delete(card.idempotencyKey); // the newest are last
    state.cardIdByKey.set(card.idempotencyKey, card.id);
  }
  for (const operation of items.operations) {
    state.operations.set(operation.id, operation);
    const ids = state.operationIdsByCard.get(operation.cardId);
    if (ids === undefined) state.operationIdsByCard.set(operation.cardId, [operation.id]);
    else ids.push(operation.id);
  }
  for (const endpoint of items.endpoints) state.endpoints.set(endpoint.id, endpoint);
  for (const delivery of items.deliveries) {
    state.deliveries.set(delivery.id, delivery);
    if (delivery.state === "pending") state.pendingDeliveryIds.add(delivery.id);
  }
  for (const fault of items.faults) state.faults.set(fault.id, fault);
  for (const refusal of items.refusals) state.refusals.set(refusal.id, refusal);
  for (const warning of items.warnings) state.warnings.set(warning.id, warning);
  return state;
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
