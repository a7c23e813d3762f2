/** The event types of the contract, and the parser of a verified body: the only JSON.parse of a delivery. */

/*
 * What a handler needs is checked and has a type. The other members of `data` are optional and `unknown`: the service may omit or
 * change them, and an event is not withheld from its handler for them.
 */

/** The members of every event. */
interface EventEnvelope<Type extends string> {
  /** The same in every delivery of the event. Use it for deduplication (spec 6.1). */
  id: string;
  /** The event type (spec 6.2). */
  type: Type;
  /** Time of the event: ISO 8601, UTC with milliseconds (spec 6.1). */
  createdAt: string;
}

/** The `data` of `card.added` and `card.removed`. */
export interface WalletChange {
  /** Identifier of the card (spec 6.2). */
  passId: string;
  /** Identifier of the customer (spec 6.2). */
  customerId?: unknown;
  /**
   * The wallet; the mock service sends `apple` or `google`. The values are not specified, so any JSON value is possible
   * (spec 6.2).
   */
  wallet?: unknown;
}

/** A card was added to a wallet (spec 6.2). */
export interface CardAdded extends EventEnvelope<"card.added"> {
  /** The card and the wallet (spec 6.2). */
  data: WalletChange;
}

/** A card was removed from a wallet (spec 6.2). */
export interface CardRemoved extends EventEnvelope<"card.removed"> {
  /** The card and the wallet (spec 6.2). */
  data: WalletChange;
}

/** Points or stamps changed. Use `data.balance`, and never add up `data.change` (spec 6.2, 6.3.4). */
export interface BalanceChanged extends EventEnvelope<"balance.changed"> {
  /** The new balance and its cause (spec 6.2). */
  data: {
    /** Identifier of the card (spec 6.2). */
    passId: string;
    /** Identifier of the customer (spec 6.2). */
    customerId?: unknown;
    /** The new balance, in points or stamps (spec 6.2). */
    balance: number;
    /** Signed change of the balance, in points or stamps (spec 6.2). */
    change?: unknown;
    /** The operation that changed the balance (spec 6.2). */
    operation?: {
      /** Identifier of the operation (spec 2.5). */
      id?: unknown;
      /** Why the balance changed (spec 2.5). */
      type?: unknown;
    } | null;
  };
}

/** The card reached another tier (spec 6.2). */
export interface TierChanged extends EventEnvelope<"tier.changed"> {
  /** The new tier and the previous one (spec 6.2). */
  data: {
    /** Identifier of the card (spec 6.2). */
    passId: string;
    /** Identifier of the customer (spec 6.2). */
    customerId?: unknown;
    /** The new tier; the mock service sends its name or null. The format is not specified (spec 6.2). */
    tier?: unknown;
    /** The previous tier; the mock service sends its name or null. The format is not specified (spec 6.2). */
    previous?: unknown;
  };
}

/** The marketing consent was given or withdrawn (spec 6.2). */
export interface ConsentChanged extends EventEnvelope<"consent.changed"> {
  /** The current consent (spec 6.2). */
  data: {
    /** Identifier of the customer (spec 6.2). */
    customerId?: unknown;
    /** true if given, false if withdrawn. The format is not specified, so compare with `=== true` (spec 6.2). */
    marketingConsent?: unknown;
    /** All cards of the customer (spec 6.2). */
    passIds: string[];
  };
}

/** A test sent from the console (spec 6.2). */
export interface Ping extends EventEnvelope<"ping"> {
  /** Not specified, so any JSON value is possible, or none (spec 6.2). */
  data?: unknown;
}

/**
 * An event of a type that this version does not know, or of a known type whose `data` has another shape: an event for which
 * {@link isKnownEvent} is false. Its signature is verified.
 */
export interface UnknownEvent {
  /** The same in every delivery of the event. Use it for deduplication (spec 6.1). */
  id: string;
  /** The event type: any string, also one of the known types when `data` has another shape. */
  type: string;
  /** When it happened, as the service sent it. */
  createdAt: string;
  /** What the service sent. */
  data: unknown;
}

/** The known events, by type. A test compares them and their docstrings with the OpenAPI document of the service. */
export interface KnownEvents {
  /** A card was added to a wallet. */
  "card.added": CardAdded;
  /** A card was removed from a wallet. */
  "card.removed": CardRemoved;
  /** Points or stamps changed. */
  "balance.changed": BalanceChanged;
  /** The card reached another tier. */
  "tier.changed": TierChanged;
  /** The marketing consent was given or withdrawn. */
  "consent.changed": ConsentChanged;
  /** A test sent from the console. */
  ping: Ping;
}

/** The types of the known events. */
export type KnownEventType = keyof KnownEvents;
/** An event that this version knows (spec 6.2). */
export type KnownEvent = KnownEvents[KnownEventType];

/**
 * Any event. Call {@link isKnownEvent} before you compare `type` and read `data`, or use `onEvents`, which does: the service may send
 * new types, and `data` of another shape.
 */
export type WebhookEvent = KnownEvent | UnknownEvent;

type Members = Record<string, unknown>;

const isString = (value: unknown): value is string => typeof value === "string";
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Adds the JSON Pointer of each difference between a value and the contract. The path contains no value of the event. */
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

/** Adds only the first difference, because a list can have very many. */
const listOfStrings: Check = (value, path, unexpected) => {
  if (!Array.isArray(value)) unexpected.push(path);
  else {
    const index = value.findIndex((item) => !isString(item));
    if (index >= 0) unexpected.push(`${path}/${index}`);
  }
};

/**
 * What a handler needs of `data`: a balance is stored by card, and needs neither `change` nor `operation` (spec 6.3.4). A test
 * compares these members with those that the OpenAPI document requires.
 */
const dataChecks = new Map(
  Object.entries({
    "card.added": object({ passId: string }),
    "card.removed": object({ passId: string }),
    "balance.changed": object({ passId: string, balance: number }),
    "tier.changed": object({ passId: string }),
    "consent.changed": object({ passIds: listOfStrings }),
    ping: () => {},
  } satisfies Record<KnownEventType, Check>),
);

/** The event types that this version knows. */
export const getKnownTypes = (): string[] => [...dataChecks.keys()];

export const isKnownType = (type: string): type is KnownEventType => dataChecks.has(type);

const noDifferences: readonly string[] = [];

/**
 * Where the `data` of an event of a known type lacks what a handler needs, as JSON Pointers such as `/data/balance`.
 * Empty for an unknown type.
 */
export function findUnexpectedData({ type, data }: WebhookEvent): readonly string[] {
  const checkData = dataChecks.get(type);
  if (checkData === undefined) return noDifferences;
  const unexpected: string[] = [];
  checkData(data, "/data", unexpected);
  return unexpected;
}

/**
 * Whether this version knows the type of an event and its `data` has the members that are not optional.
 * Call it before you read `data`, unless the event comes from `onEvents`: the service may send data of another
 * shape, and such an event is delivered and stored all the same. Also works for events of another copy of this package.
 * @example
 * ```ts
 * import { isKnownEvent, type WebhookEvent } from "@loyalty-cards/webhook-verify";
 *
 * export function handler(event: WebhookEvent): void {
 *   if (isKnownEvent(event) && event.type === "balance.changed") console.log(event.data.passId, event.data.balance);
 * }
 * ```
 */
export function isKnownEvent(event: WebhookEvent): event is KnownEvent {
  return isKnownType(event.type) && findUnexpectedData(event).length === 0;
}

const utf8 = new TextDecoder(undefined, { fatal: true });

/** Parses a verified body. Returns a string when it is not an event: why, without text of the body. */
export function parseEvent(body: Uint8Array | string): WebhookEvent | string {
  let value: unknown;
  try {
    // Without a byte order mark, which the decoder removes too.
    value = JSON.parse(typeof body === "string" ? body.replace(/^\uFEFF/, "") : utf8.decode(body));
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

/** An index entry of PostgreSQL can have 2 704 bytes; a character has at most three. */
const maxIdLength = 512;

/**
 * Whether a database can store the text. Databases cut text at a NUL, reject it, or replace half of a surrogate pair, so that two
 * ids become equal. JSON can contain both as escapes.
 */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");
