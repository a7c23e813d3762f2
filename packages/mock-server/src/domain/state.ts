/** Everything a world remembers, as plain data, so that it can be copied, restored, reset and written to a file. */
import type { DeliveryStore } from "../delivery/deliveries.ts";
import type { EndpointStore } from "../delivery/endpoints.ts";
import type { EventStore } from "../delivery/outbox.ts";
import type { FaultStore } from "../faults/rules.ts";
import type { ApiKeyStore } from "./api-keys.ts";
import type { CardStore } from "./cards.ts";
import type { CustomerStore } from "./customers.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { LedgerStore } from "./ledger.ts";
import type { TemplateStore } from "./templates.ts";

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
    FaultStore {}

export function emptyState(): State {
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
    issuedUnderKey: new Map(),
    endpoints: new Map(),
    deliveries: new Map(),
    pendingDeliveryIds: new Set(),
    recentEvents: [],
    faults: new Map(),
  };
}
