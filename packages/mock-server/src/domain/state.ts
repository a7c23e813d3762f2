/** Everything the service remembers, as plain data, so that it can be copied, restored and reset. */
import type { DeliveryStore } from "../delivery/deliveries.ts";
import type { EndpointStore } from "../delivery/endpoints.ts";
import { type ApiKeyStore, seededApiKeys } from "./api-keys.ts";
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
    DeliveryStore {}

export function emptyState(): State {
  return {
    apiKeys: new Map([
      [seededApiKeys.website, "website"],
      [seededApiKeys.full, "full"],
    ]),
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
  };
}
