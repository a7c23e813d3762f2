/** The event types of the contract, and the parser of a verified body: the only JSON.parse of a delivery. */
import { type KnownEvents, requiredData } from "@loyalty-cards/openapi/events";

/*
 * The types of the events and the table of the members that a handler needs are generated from openapi.yaml. What a handler needs is
 * checked and has a type. The other members of `data` are optional and `unknown`: the service may omit or change them, and the
 * handler still gets the event.
 */
export type { KnownEvents } from "@loyalty-cards/openapi/events";

/**
 * An event of a type that this version does not know, or of a known type whose `data` has another shape: an event for which
 * {@link isKnownEvent} is false. Its signature is verified.
 */
export interface UnknownEvent {
  /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
  id: string;
  /** The event type: any string, also one of the known types when `data` has another shape. */
  type: string;
  /** When it happened, as the service sent it. */
  createdAt: string;
  /** What the service sent. */
  data: unknown;
}

/** The types of the known events. */
export type KnownEventType = keyof KnownEvents;
/** An event that this version knows ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
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

/** Adds only the first difference, because a list can have very many. */
const listOfStrings: Check = (value, path, unexpected) => {
  if (!Array.isArray(value)) unexpected.push(path);
  else {
    const index = value.findIndex((item) => !isString(item));
    if (index >= 0) unexpected.push(`${path}/${index}`);
  }
};

/** The checks by the type names of the table. `number` rejects Infinity, which JSON.parse returns for 1e999. */
const checks = { string: check(isString), number: check(Number.isFinite), "string[]": listOfStrings };

function toDataCheck(members: Readonly<Record<string, keyof typeof checks>>): Check {
  const named = Object.entries(members).map(([name, type]) => [name, checks[type]] as const);
  if (named.length === 0) return () => {};
  return (value, path, unexpected) => {
    if (!isObject(value)) unexpected.push(path);
    else for (const [name, checkMember] of named) checkMember(value[name], `${path}/${name}`, unexpected);
  };
}

/**
 * What a handler needs of `data`: a balance is stored by card, and needs neither `change` nor `operation`
 * ([spec 6.3.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-4)).
 */
const dataChecks = new Map(
  Object.entries(requiredData).map(([type, members]) => [type, toDataCheck(members)]),
);

/** The event types that this version knows. */
export const getKnownTypes = (): string[] => [...dataChecks.keys()];

export const isKnownType = (type: string): type is KnownEventType => dataChecks.has(type);

const noDifferences: readonly string[] = [];

/**
 * Returns the JSON Pointers, such as `/data/balance`, of the members of `data` that a handler needs and that are missing or invalid.
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

/** Parses a verified body. @returns a string when the body is not an event: the reason, without text of the body. */
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
