/** The context of the domain's functions: state, clock, settings, events, change notifications, and ids (event ids sort in the order of their creation). */
import type { webhooks } from "@loyalty-cards/openapi";

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
  /** Another number after each change, and after a restart: it begins with the time in milliseconds. */
  version(): number;
  /** @returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void;
}

export function createChangeNotifier(): ChangeNotifier {
  const listeners = new Set<Listener>();
  let version = Date.now();
  return {
    version: () => version,
    notify(change) {
      version += 1;
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

export type GenerateId = (prefix: string) => string;

const alphabet = toCharCodes("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
const length = 16;
/** The largest multiple of the alphabet length up to 256. Larger bytes would make the first letters more frequent. */
const maxUsableByte = 256 - (256 % alphabet.length);

/** Random bytes are fetched in blocks: one call per id would cost more than creating the card. */
const pool = new Uint8Array(4_096);
let used = pool.length;

export const generateRandomId: GenerateId = (prefix) => {
  // Not with +=, for which V8 would keep a tree of parts for each of millions of ids.
  const codes = toCharCodes(`${prefix}_`);
  const end = codes.length + length;
  while (codes.length < end) {
    if (used === pool.length) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const byte = pool[used++] as number;
    if (byte < maxUsableByte) codes.push(alphabet[byte % alphabet.length] as number);
  }
  return String.fromCharCode(...codes);
};

function toCharCodes(text: string): number[] {
  const codes: number[] = [];
  for (let index = 0; index < text.length; index++) codes.push(text.charCodeAt(index));
  return codes;
}

/** Ids of events and of requests. Compared as strings, those of one kind sort in the order of their creation. */
export interface SortableIds {
  nextEventId(): string;
  nextRequestId(): string;
  /** Makes the next ids sort after this one. Ignores an earlier id, and one of another form. */
  continueAfter(id: string | undefined): void;
  /** The beginning of the newest id, for `continueAfter`. */
  newest(): string;
}

/** Milliseconds since 1970 in base 36 (until the year 5188), then a counter. Digits and lower-case letters sort the same everywhere. */
const [timeLength, countLength] = [9, 6];
const maxTimeMs = 36 ** timeLength - 1;
const sortableId = new RegExp(`^[a-z]{3}_([0-9a-z]{${timeLength}})([0-9a-z]{${countLength}})_`);

/** The part of an id by which events and requests sort together. */
export const getPosition = (id: string) => id.slice(4, 4 + timeLength + countLength);

/**
 * An id is a prefix, the time, a counter of the ids of that millisecond, and a part of its own.
 * While the clock stands still or is behind the newest id, the time stays the same and the counter increases.
 */
export function createSortableIds(nowMs: () => number, generateId: GenerateId): SortableIds {
  let [timeMs, count] = [0, -1];
  const position = () => toDigits(timeMs, timeLength) + toDigits(Math.max(0, count), countLength);
  function next(): string {
    const atMs = Math.min(Math.max(0, Math.floor(nowMs())), maxTimeMs);
    if (atMs > timeMs) [timeMs, count] = [atMs, 0];
    else count += 1;
    return position();
  }
  return {
    nextEventId: () => generateId(`evt_${next()}`),
    nextRequestId: () => `req_${next()}`,
    continueAfter(id = "") {
      const [, time = "", counted = ""] = sortableId.exec(id) ?? [];
      if (time + counted > position())
        [timeMs, count] = [Number.parseInt(time, 36), Number.parseInt(counted, 36)];
    },
    newest: () => `evt_${position()}_`,
  };
}

const toDigits = (value: number, length: number) => value.toString(36).padStart(length, "0");
