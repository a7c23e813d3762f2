/**
 * The state of the service as plain data: what each store holds, by id, so that a snapshot and the
 * data file are copies of one object.
 */
import type { webhooks } from "@loyalty-cards/openapi";
import type { components } from "@loyalty-cards/openapi/control";
import type { Problem } from "./problem.ts";

type Schemas = components["schemas"];
type Mutable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

export type EventType = keyof webhooks;
type EventBody<Type extends EventType> =
  webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
export type EventData<Type extends EventType> = NonNullable<EventBody<Type>["data"]>;

/**
 * An API key that is valid ([spec
 * 5.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-2)).
 */
export type ApiKey = Schemas["ApiKey"];
export type ApiKeyKind = ApiKey["kind"];
/** One key of each kind. */
export type ApiKeys = Readonly<Record<ApiKeyKind, string>>;

/** One field of a template. */
export type TemplateField = Schemas["TemplateField"];

/**
 * A template that cards are issued from ([spec
 * 2.7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-7)).
 */
export type Template = Mutable<Schemas["Template"]>;

export interface Customer {
  id: string;
  /** The phone number in E.164. */
  phone?: string;
  /**
   * The address as first received, without surrounding spaces. It is compared in the form of
   * `normalizeEmail`.
   */
  email?: string;
  name?: string;
  privacyVersion?: string;
  marketing: { isGiven: boolean; isWithdrawn?: boolean; version?: string };
  cardIds: string[];
}

export type FieldValues = Record<string, string | number>;

export interface StoredCard {
  id: string;
  /** Identifies the public page, so that its address does not contain the id. */
  slug: string;
  templateId: string;
  customerId: string;
  balance: number;
  /** Points of the balance that no longer count for the tier. */
  expiredPoints: number;
  tier: string | null;
  issuedVia: string;
  status: string;
  fieldValues: FieldValues;
  wallets: string[];
  issuedAtMs: number;
}

export interface StoredOperation {
  id: string;
  cardId: string;
  type: "purchase" | "redemption" | "reward" | "correction" | "cancellation";
  change: number;
  balance: number;
  createdAt: string;
  isCancelled: boolean;
}

/** What became of the first request with an idempotency key. */
export interface KeyRecord {
  atMs: number;
  contentHash: number;
  cardId?: string;
  /** A 404 or 422, when the option `storeRefusals` is set. */
  refusal?: Problem;
}

export interface Endpoint {
  id: string;
  url: string;
  events: readonly EventType[];
  secret: string;
  /** ISO 8601. Absent while it has its first secret. */
  secretReplacedAt?: string;
}

/** The body of a webhook. */
export interface ServiceEvent {
  id: string;
  type: EventType;
  /** ISO 8601. */
  createdAt: string;
  data: unknown;
}

/** A request to the API, as `GET /_mock/traffic` returns it. */
export type TrafficRequest = Schemas["TrafficRequest"];

/** What was done to a card, except by requests to the API. */
export type Action = Schemas["Action"];

/** One request of a delivery, and its result. */
export type Attempt = Schemas["Attempt"];

/**
 * One event sent to one endpoint ([spec
 * 3.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-2)).
 */
export interface Delivery extends Mutable<Omit<Schemas["Delivery"], "attempts">> {
  attempts: Attempt[];
  /** When the newest attempt started, or else when the event was created: see `SortableIds`. */
  position: string;
  /**
   * The delivery was resent during an attempt: another attempt follows, whatever the result of that
   * one.
   */
  isResent?: true;
}

/** A stored rule for injected faults. */
export type Fault = Schemas["FaultInput"] & { id: string };

/** Maps are by id, and in the order of creation, where nothing else is said. */
export const createEmptyState = () => ({
  /** The valid keys. */
  apiKeys: new Map<string, ApiKey>(),
  templates: new Map<string, Template>(),
  customers: new Map<string, Customer>(),
  customerIdByPhone: new Map<string, string>(),
  customerIdByEmail: new Map<string, string>(),
  cards: new Map<string, StoredCard>(),
  cardIdBySlug: new Map<string, string>(),
  operations: new Map<string, StoredOperation>(),
  operationIdsByCard: new Map<string, string[]>(),
  /** The records by idempotency key, oldest first, because the oldest are deleted first. */
  keyRecords: new Map<string, KeyRecord>(),
  endpoints: new Map<string, Endpoint>(),
  deliveries: new Map<string, Delivery>(),
  /** The deliveries in state `pending`. */
  pendingDeliveryIds: new Set<string>(),
  /** The newest events, oldest first. */
  recentEvents: [] as ServiceEvent[],
  /** The newest actions, oldest first. */
  recentActions: [] as Action[],
  /** The rules, in the order in which they are matched. */
  faults: new Map<string, Fault>(),
});

export type State = ReturnType<typeof createEmptyState>;

const maxRecent = 1_000;

/** Adds to a list of the newest items. It is cut at twice the limit, so that items seldom move. */
export function addRecent<Item>(recent: Item[], item: Item): void {
  recent.push(item);
  if (recent.length >= 2 * maxRecent) recent.splice(0, maxRecent);
}

/** A state as JSON can represent it: each Map as a list of its entries, each Set as a list. */
export const toLists = (state: State): Record<string, unknown[]> =>
  Object.fromEntries(Object.entries(state).map(([name, store]) => [name, [...store]]));

/** @throws {TypeError} for what `toLists` did not return. */
export function fromLists(lists: Record<string, unknown>): State {
  const stores = Object.entries(createEmptyState()).map(([name, empty]) => {
    const list = lists[name];
    if (!Array.isArray(list)) throw new TypeError(`it has no list "${name}"`);
    if (empty instanceof Map) return [name, new Map(list)];
    if (empty instanceof Set) return [name, new Set(list)];
    return [name, list];
  });
  return Object.fromEntries(stores);
}
