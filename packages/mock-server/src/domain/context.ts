/** The context of the domain's functions: state, clock, settings, events, change notifications. */
import type { Clock } from "./clock.ts";
import { createNotFoundError } from "./errors.ts";
import type { SortableIds } from "./ids.ts";
import type { Delivery, EventData, EventType, State, TrafficRequest } from "./state.ts";

/** An ISO 3166 code such as "PL". */
export type Country = string;

export type Wallets = { readonly first: string; readonly second: string };

/** Converts "apple" to "Apple Wallet". */
export const toWalletTitle = (wallet: string): string =>
  `${wallet.slice(0, 1).toUpperCase()}${wallet.slice(1)} Wallet`;

export interface Domain {
  state: State;
  clock: Clock;
  nowMs: () => number;
  /** They are not part of the state, so that a reset or a restore does not repeat ids. */
  ids: SortableIds;
  /**
   * Emits an event to the endpoints that selected it.
   * @param causeId the request or the action that caused it.
   */
  emit: <Type extends EventType>(type: Type, data: EventData<Type>, causeId: string) => void;
  /** Notifies subscribers of a change: `waitFor`, the data file, the log of the traffic. */
  notifyChange: (change?: Change) => void;
  baseUrl: string;
  defaultCountry: Country;
  wallets: Wallets;
  /** The address that an endpoint may have although it is in a private network. */
  forwardTo: string | undefined;
  /** Whether a 404 or 422 is stored under its idempotency key. */
  storeRefusals: boolean;
}

/**
 * What changed besides the state: a request was processed, a delivery was attempted, or the clock
 * is moved.
 */
export interface Change {
  request?: TrafficRequest;
  attempted?: Delivery;
  moved?: { fromMs: number; toMs: number };
}

export type ChangeNotifier = ReturnType<typeof createChangeNotifier>;

export function createChangeNotifier() {
  const listeners = new Set<(change: Change) => void>();
  let version = Date.now();
  return {
    /**
     * @returns another number after each change, and after a restart: it begins with the time in
     * milliseconds.
     */
    version: () => version,
    notify(change: Change = {}): void {
      version += 1;
      for (const listener of listeners) listener(change);
    },
    /** @returns a function that unsubscribes. */
    subscribe(listener: (change: Change) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** @throws {NotFoundError} that names the id. */
export function getById<Value>(
  values: ReadonlyMap<string, Value>,
  id: string,
  what: string,
): Value {
  const value = values.get(id);
  if (value === undefined) throw createNotFoundError(what, id);
  return value;
}
