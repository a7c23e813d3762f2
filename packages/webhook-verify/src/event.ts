/** The events of the contract, and the first and only JSON.parse of a delivery: after its signature matched. */
/** What every event has. */
interface EventEnvelope<Type extends string> {
  /** Identical across repeated deliveries of the same event; deduplicate by it (spec 6.1). */
  id: string;
  /** The event type (spec 6.2). */
  type: Type;
  /** When it happened: ISO 8601, UTC with milliseconds (spec 6.1). */
  createdAt: string;
}

/** Which card, and which wallet: the `data` of `card.added` and `card.removed`. */
export interface WalletChange {
  /** Identifier of the card (spec 6.2). */
  passId: string;
  /** Identifier of its customer (spec 6.2). */
  customerId: string;
  /**
   * Which wallet kind; the mock service sends `apple` and `google`. Its values are not specified, so any JSON value may
   * come (spec 6.2).
   */
  wallet?: unknown;
}

/** A card was added to a wallet of either kind (spec 6.2). */
export interface CardAdded extends EventEnvelope<"card.added"> {
  /** Which card, and which wallet (spec 6.2). */
  data: WalletChange;
}

/** A card was removed from a wallet (spec 6.2). */
export interface CardRemoved extends EventEnvelope<"card.removed"> {
  /** Which card, and which wallet (spec 6.2). */
  data: WalletChange;
}

/** Points or stamps changed. Use `data.balance`, not sums of `data.change` (spec 6.2, 6.3.4). */
export interface BalanceChanged extends EventEnvelope<"balance.changed"> {
  /** The new balance and why (spec 6.2). */
  data: {
    /** Identifier of the card (spec 6.2). */
    passId: string;
    /** Identifier of its customer (spec 6.2). */
    customerId: string;
    /** The new balance, in points or stamps (spec 6.2). */
    balance: number;
    /** Signed difference to the balance before, in points or stamps (spec 6.2). */
    change: number;
    /** The operation that changed it (spec 6.2). */
    operation: {
      /** Identifier of the operation (spec 2.5). */
      id: string;
      /** Why the balance changed (spec 2.5). */
      type: "purchase" | "redemption" | "reward" | "correction" | "cancellation" | (string & {});
    };
  };
}

/** The card moved to another level (spec 6.2). */
export interface TierChanged extends EventEnvelope<"tier.changed"> {
  /** The new level and the one before (spec 6.2). */
  data: {
    /** Identifier of the card (spec 6.2). */
    passId: string;
    /** Identifier of its customer (spec 6.2). */
    customerId: string;
    /**
     * The new level; the mock service sends its name, or null when below all levels. Its form is not specified, so any JSON value
     * may come (spec 6.2).
     */
    tier?: unknown;
    /** The level before; the mock service sends its name, or null when there was none. Any JSON value may come (spec 6.2). */
    previous?: unknown;
  };
}

/** News-and-offers consent was given or withdrawn (spec 6.2). */
export interface ConsentChanged extends EventEnvelope<"consent.changed"> {
  /** The consent as it is now (spec 6.2). */
  data: {
    /** Identifier of the customer (spec 6.2). */
    customerId: string;
    /** true when given, false when withdrawn. Its form is not specified, so compare with `=== true` (spec 6.2). */
    marketingConsent?: unknown;
    /** All cards of the customer (spec 6.2). */
    passIds: string[];
  };
}

/** A test sent from the console (spec 6.2). */
export interface Ping extends EventEnvelope<"ping"> {
  /** Not specified, so any JSON value may come, or none (spec 6.2). */
  data?: unknown;
}

/**
 * An event of a type that this version does not know, or of a known type with `data` of another shape: what
 * {@link isKnownEvent} is false for. It is verified like any other.
 */
export interface UnknownEvent {
  /** Identical across repeated deliveries of the same event; deduplicate by it (spec 6.1). */
  id: string;
  /**
   * Any string at run time; read it as `String(event.type)`. To the compiler it is this one literal, because a plain
   * string would overlap with the known names, and comparing `type` could then rule nothing out.
   */
  type: "(unknown to this version)";
  /** When it happened, as the service wrote it. */
  createdAt: string;
  /** Whatever the service sent. */
  data?: unknown;
}

/** The known events, by type. A test compares them, and what is said of their members, with the service's OpenAPI document. */
export interface KnownEvents {
  /** A card was added to a wallet. */
  "card.added": CardAdded;
  /** A card was removed from a wallet. */
  "card.removed": CardRemoved;
  /** Points or stamps changed. */
  "balance.changed": BalanceChanged;
  /** The card moved to another level. */
  "tier.changed": TierChanged;
  /** News-and-offers consent was given or withdrawn. */
  "consent.changed": ConsentChanged;
  /** A test sent from the console. */
  ping: Ping;
}

/** Their types, as they are on the wire. */
export type KnownEventType = keyof KnownEvents;
/** The events that this version knows (spec 6.2). */
export type KnownEvent = KnownEvents[KnownEventType];

/**
 * Every event there is, discriminated by `type`. The type tells which members `data` should have; the service may send others, so
 * ask {@link isKnownEvent} before you read them, or use `onEvents`, which does.
 */
export type WebhookEvent =
  | CardAdded
  | CardRemoved
  | BalanceChanged
  | TierChanged
  | ConsentChanged
  | Ping
  | UnknownEvent;

type Members = Record<string, unknown>;

const isString = (value: unknown): value is string => typeof value === "string";
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Adds the JSON Pointer of each place where a value differs from the contract. The path holds no value of the event. */
type Check = (value: unknown, path: string, unexpected: string[]) => void;

const check =
  (isExpected: (value: unknown) => boolean): Check =>
  (value, path, unexpected) => {
    if (!isExpected(value)) unexpected.push(path);
  };

const string = check(isString);
const number = check(Number.isFinite); // 1e999 is JSON, and becomes Infinity

function object(members: Record<string, Check>): Check {
  const checks = Object.entries(members);
  return (value, path, unexpected) => {
    if (!isObject(value)) unexpected.push(path);
    else for (const [name, member] of checks) member(value[name], `${path}/${name}`, unexpected);
  };
}

/** Names only the first place, because a list may have a hundred thousand. */
const listOfStrings: Check = (value, path, unexpected) => {
  if (!Array.isArray(value)) unexpected.push(path);
  else {
    const index = value.findIndex((item) => !isString(item));
    if (index >= 0) unexpected.push(`${path}/${index}`);
  }
};

const ofCard = { passId: string, customerId: string };

/**
 * What the specification promises about `data` (spec 6.2). Members whose form it leaves open are not here: `wallet`,
 * `tier`, `previous`, `marketingConsent`, and the data of a ping. The compiler counts the events.
 */
const dataChecks = new Map(
  Object.entries({
    "card.added": object(ofCard),
    "card.removed": object(ofCard),
    "balance.changed": object({
      ...ofCard,
      balance: number,
      change: number,
      operation: object({ id: string, type: string }),
    }),
    "tier.changed": object(ofCard),
    "consent.changed": object({ customerId: string, passIds: listOfStrings }),
    ping: () => {},
  } satisfies Record<KnownEventType, Check>),
);

/** The types that this version knows. */
export const knownTypes = (): string[] => [...dataChecks.keys()];

export const isKnownType = (type: string): type is KnownEventType => dataChecks.has(type);

const nothing: readonly string[] = [];

/**
 * Where the `data` of an event of a known type differs from the contract, as JSON Pointers such as `/data/balance`.
 * Empty for a type that this version does not know, because there is nothing to compare with.
 */
export function unexpectedData({ type, data }: WebhookEvent): readonly string[] {
  const checkData = dataChecks.get(type);
  if (checkData === undefined) return nothing;
  const unexpected: string[] = [];
  checkData(data, "/data", unexpected);
  return unexpected;
}

/**
 * Whether the type of an event is known to this version and its `data` has the members that the types promise (spec 6.2).
 * Call it before you read `data` of an event that does not come from `onEvents`: the service may send data of another
 * shape, and such an event is delivered and stored all the same. Looks at nothing but the event, so it also works for an
 * event of another copy of this package.
 * @example
 * ```ts
 * import { isKnownEvent, type WebhookEvent } from "@loyalty-cards/webhook-verify";
 *
 * export function accept(event: WebhookEvent): void {
 *   if (isKnownEvent(event) && event.type === "balance.changed") console.log(event.data.passId, event.data.balance);
 * }
 * ```
 */
export function isKnownEvent(event: WebhookEvent): event is KnownEvent {
  return isKnownType(event.type) && unexpectedData(event).length === 0;
}

const utf8 = new TextDecoder(undefined, { fatal: true });

/** Parses a verified body. A string says why it is no event, and quotes nothing of it. */
export function parseEvent(body: Uint8Array): WebhookEvent | string {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch (error) {
    return error instanceof TypeError ? "the body is not UTF-8" : "the body is not JSON";
  }
  if (!isObject(value)) return "the body is not a JSON object";
  for (const name of ["id", "type", "createdAt"]) {
    const text = value[name];
    if (!isString(text)) return `${name} is not a string`;
    if (!isStorable(text)) return `${name} has a NUL character or half of a surrogate pair`;
  }
  const { length } = (value as unknown as WebhookEvent).id;
  if (length === 0) return "id is empty";
  if (length > maxIdLength) return `id has more than ${maxIdLength} characters`;
  return value as unknown as WebhookEvent;
}

/** An index of PostgreSQL takes 2 704 bytes; a character takes three of them at most. */
const maxIdLength = 512;

/**
 * Databases cut text at a NUL, refuse it, or replace half of a surrogate pair: two ids would become one. JSON carries
 * both as escapes.
 */
const isStorable = (text: string): boolean => !text.includes("\0") && !/\p{Surrogate}/u.test(text);
