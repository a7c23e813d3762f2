/** The context of the domain's functions: state, clock, ids, settings, events and change notifications. */
import type { webhooks } from "@loyalty-cards/openapi";
import type { GenerateId } from "./identifiers.ts";

export type EventType = keyof webhooks;

type EventBody<Type extends EventType> = webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
export type EventData<Type extends EventType> = NonNullable<EventBody<Type>["data"]>;

/** An ISO 3166 code such as "PL". */
export type Country = string;

export type Wallets = { readonly first: string; readonly second: string };

export interface DomainContext {
  nowMs: () => number;
  generateId: GenerateId;
  /** Event ids sort in the order of their creation. */
  generateEventId: () => string;
  /** Emits an event through the outbox. */
  emit: <Type extends EventType>(type: Type, data: EventData<Type>) => void;
  /** Notifies subscribers of a change: the console, `waitFor`, the data file. */
  notifyChange: (change: Change) => void;
  baseUrl: string;
  defaultCountry: Country;
  wallets: Wallets;
  /** Whether endpoints may have addresses of private networks. */
  allowPrivateEndpoints: boolean;
  /** Whether a 404 or 422 is stored under its idempotency key. */
  storeRefusals: boolean;
  /** Logs one line. It contains no personal data. */
  log: (line: string) => void;
}

/** The context and the part of the state that a function works on. */
export type Domain<Store> = DomainContext & { state: Store };

export type ChangeType =
  | "apiKey"
  | "template"
  | "customer"
  | "card"
  | "operation"
  | "endpoint"
  | "delivery"
  | "event"
  | "clock"
  | "fault"
  | "refusal"
  | "warning"
  | "request";

/** What changed, by its id. `reset`: everything may have changed. */
export type Change =
  | { type: ChangeType; id: string; action: "created" | "changed" | "removed" }
  | { type: "reset" };

export type Listener = (change: Change) => void;

export interface ChangeNotifier {
  notify: Listener;
  /** @returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void;
}

export function createChangeNotifier(): ChangeNotifier {
  const listeners = new Set<Listener>();
  return {
    notify(change) {
      for (const listener of listeners) listener(change);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** An id does not exist. */
export class NotFoundError extends RangeError {
  override name = "NotFoundError" as const;
}
