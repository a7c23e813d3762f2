/** The context of the domain's functions: state, clock, settings, events, change notifications, and ids (event ids sort in the order of their creation). */
import type { Clock } from "./clock.ts";
import type { Delivery, EventData, EventType, State, TrafficRequest } from "./state.ts";

/** An ISO 3166 code such as "PL". */
export type Country = string;

export type Wallets = { readonly first: string; readonly second: string };

export interface Domain {
  state: State;
  clock: Clock;
  nowMs: () => number;
  /** Emits an event to the endpoints that selected it. */
  emit: <Type extends EventType>(type: Type, data: EventData<Type>) => void;
  /** Notifies subscribers of a change: `waitFor`, the data file, the log of the traffic. */
  notifyChange: (change?: Change) => void;
  baseUrl: string;
  defaultCountry: Country;
  wallets: Wallets;
  /** Whether a 404 or 422 is stored under its idempotency key. */
  storeRefusals: boolean;
}

/** What changed besides the state: a request was processed, or a delivery was attempted. */
export interface Change {
  request?: TrafficRequest;
  attempted?: Delivery;
}

export type ChangeNotifier = ReturnType<typeof createChangeNotifier>;

export function createChangeNotifier() {
  const listeners = new Set<(change: Change) => void>();
  let version = Date.now();
  return {
    /** Another number after each change, and after a restart: it begins with the time in milliseconds. */
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

/** An id does not exist. */
export class NotFoundError extends RangeError {
  override name = "NotFoundError" as const;
}

/** @throws {NotFoundError} that names the id. */
export function getById<Value>(values: ReadonlyMap<string, Value>, id: string, what: string): Value {
  const value = values.get(id);
  if (value === undefined) throw new NotFoundError(`There is no ${what} "${id}".`);
  return value;
}

/** 64 random bits: unique, and short enough for a line of a terminal. */
export function generateId(prefix: string): string {
  const uuid = crypto.randomUUID();
  return [prefix, "_", uuid.slice(0, 4), uuid.slice(24)].join(""); // one string, where + keeps a tree of its parts
}

/** Milliseconds since 1970 in base 36 (until the year 5188), then a counter. Digits and lower-case letters sort the same everywhere. */
const [timeLength, countLength] = [9, 6];
const maxTimeMs = 36 ** timeLength - 1;
const sortableId = new RegExp(`^[a-z]{3}_([0-9a-z]{${timeLength + countLength}})_`);

/** The part of an id by which events and requests sort together. */
export const getPosition = (id: string) => id.slice(4, 4 + timeLength + countLength);

/**
 * Ids of events and of requests. Compared as strings, those of one kind sort in the order of their creation: an id is a prefix,
 * the time, a counter of the ids of that millisecond, and a part of its own.
 * While the clock stands still or is behind the newest id, the time stays the same and the counter increases.
 */
export function createSortableIds(nowMs: () => number) {
  let newest = "";
  function next(): string {
    const atMs = Math.min(Math.max(0, Math.floor(nowMs())), maxTimeMs);
    const first = toDigits(atMs, timeLength) + toDigits(0, countLength);
    const count = Number.parseInt(newest.slice(timeLength), 36) + 1;
    newest = first > newest ? first : newest.slice(0, timeLength) + toDigits(count, countLength);
    return newest;
  }
  return {
    nextEventId: () => generateId(`evt_${next()}`),
    nextRequestId: () => `req_${next()}`,
    /** Makes the next ids sort after this one. Ignores an earlier id, and one of another form. */
    continueAfter(id = ""): void {
      const [, position = ""] = sortableId.exec(id) ?? [];
      if (position > newest) newest = position;
    },
    /** The beginning of the newest id, for `continueAfter`. */
    newest: () => `evt_${newest}_`,
  };
}

const toDigits = (value: number, length: number) => value.toString(36).padStart(length, "0");

export type SortableIds = ReturnType<typeof createSortableIds>;
