/** Events: their types, the parser of a verified body (the only JSON.parse of a delivery), and onEvents, which calls handlers by type. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import { notify, withSafeMessage } from "@loyalty-cards/internal/reporting";
import { type KnownEvents, requiredData } from "@loyalty-cards/openapi/events";
import { decodeUtf8 } from "./body.ts";

// Generated from openapi.yaml. What a handler needs is checked and has a type; the other members of `data` are optional and `unknown`.
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

/** An event that this version knows ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export type KnownEvent = KnownEvents[keyof KnownEvents];

/**
 * Any event. Call {@link isKnownEvent} before you compare `type` and read `data`, or use `onEvents`, which does: the service may send
 * new types, and `data` of another shape.
 */
export type WebhookEvent = KnownEvent | UnknownEvent;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type MemberType = "string" | "number" | "string[]";

/** What a handler needs of `data`, by event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
const neededData = new Map<string, [name: string, type: MemberType][]>(
  Object.entries(requiredData).map(([type, members]) => [type, Object.entries(members)]),
);

const isKnownType = (type: string): type is keyof KnownEvents => neededData.has(type);

/**
 * Returns the JSON Pointers, such as `/data/balance`, of the members of `data` that a handler needs and that are missing or invalid.
 * Empty for an unknown type.
 */
export function findUnexpectedData({ type, data }: WebhookEvent): readonly string[] {
  const needed = neededData.get(type) ?? [];
  if (needed.length === 0) return [];
  if (!isObject(data)) return ["/data"];
  const unexpected: string[] = [];
  for (const [name, memberType] of needed) {
    const path = findDifference(data[name], memberType);
    if (path !== undefined) unexpected.push(`/data/${name}${path}`);
  }
  return unexpected;
}

/** Where a value differs from a type: `""`, or for a list the first item that differs, because a list can have very many. */
function findDifference(value: unknown, type: MemberType): string | undefined {
  if (type === "string") return typeof value === "string" ? undefined : "";
  if (type === "number") return Number.isFinite(value) ? undefined : ""; // JSON.parse returns Infinity for 1e999
  if (!Array.isArray(value)) return "";
  const index = value.findIndex((item) => typeof item !== "string");
  return index < 0 ? undefined : `/${index}`;
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

/** Parses a verified body. @returns a string when the body is not an event: the reason, without text of the body. */
export function parseEvent(body: Uint8Array | string): WebhookEvent | string {
  let value: unknown;
  try {
    // Without a byte order mark, which decodeUtf8 removes too.
    value = JSON.parse(typeof body === "string" ? body.replace(/^\uFEFF/, "") : decodeUtf8(body));
  } catch (error) {
    return error instanceof TypeError ? "the body is not UTF-8" : "the body is not JSON";
  }
  if (!isObject(value)) return "the body is not a JSON object";
  for (const name of ["id", "type", "createdAt"]) {
    const text = value[name];
    if (typeof text !== "string") return `${name} is not a string`;
    // Databases cut text at a NUL, reject it, or replace half of a surrogate pair, so that two ids become equal.
    if (text.includes("\0") || !text.isWellFormed())
      return `${name} has a NUL character or half of a surrogate pair`;
  }
  const { length } = (value as unknown as WebhookEvent).id;
  if (length === 0) return "id is empty";
  if (length > maxIdLength) return `id has more than ${maxIdLength} characters`;
  return value as unknown as WebhookEvent;
}

/** An index entry of PostgreSQL can have 2 704 bytes; a character has at most three. */
const maxIdLength = 512;

/** What a handler receives with an event. */
export interface Delivery {
  /** The `Service-Delivery` header. It is not signed: log it, but do not rely on it. */
  id: string | undefined;
  /** The verified bytes. */
  rawBody: Uint8Array;
  receivedAt: Date;
  /** Aborted when the receiver responds because of its timeout. */
  signal: AbortSignal;
}

/** The result of a handler is awaited and ignored. */
type Handler<Event, Arrival> = (event: Event, delivery: Arrival) => unknown;
type Handlers<Arrival> = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type], Arrival> };

interface UnexpectedDataHandler<Arrival> {
  /**
   * Called in place of the handler of a type when `data` lacks what that handler needs. Without it, the function rejects: a receiver
   * responds 503 and the service delivers again; an inbox retries, and then stores the event as a dead letter.
   */
  unexpectedData?: Handler<UnknownEvent, Arrival>;
}

interface OtherTypesHandler<Arrival> {
  /** Called for the types without a handler of their own, newer ones included. */
  otherTypes: Handler<WebhookEvent, Arrival>;
}

/** Handlers for some event types, and `otherTypes` for the rest. @inline */
interface HandlersWithOtherTypes<Arrival extends Delivery = Delivery>
  extends Partial<Handlers<Arrival>>,
    UnexpectedDataHandler<Arrival>,
    OtherTypesHandler<Arrival> {}

/** A handler for each event type. @inline */
interface HandlersOfEveryEvent<Arrival extends Delivery = Delivery>
  extends Handlers<Arrival>,
    UnexpectedDataHandler<Arrival>,
    Partial<OtherTypesHandler<Arrival>> {}

/**
 * A handler for each event type; or `otherTypes`, and handlers for some types. `unexpectedData` is called for events of a handled
 * type whose `data` lacks what the handler needs.
 */
export type EventHandlers<Arrival extends Delivery = Delivery> =
  // In this order, the compiler error for a missing handler names the event type.
  HandlersWithOtherTypes<Arrival> | HandlersOfEveryEvent<Arrival>;

/** Each type is logged once, up to this number of types: the service could send any number of new ones. */
const maxLoggedTypes = 100;

/**
 * Creates one function from handlers by event type, for `handler`, `afterResponse` or the worker of an inbox. It uses the type in the
 * signed body, and passes its second argument to the handler unchanged.
 *
 * The handler of a type is called when `data` has what it needs: the members that are not optional in its type. Otherwise
 * `unexpectedData` is called, and without it the function rejects, so that no event of a handled type is lost. A type without a
 * handler goes to `otherTypes`, and is logged once.
 * @throws {TypeError} for a handler of an unknown event type, for a handler that is not a function, and when there is none.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const balances = new Map<string, number>();
 * export const handler = onEvents({
 *   "balance.changed": ({ data }) => balances.set(data.passId, data.balance),
 *   otherTypes: () => {}, // types that this program does not use
 * });
 * ```
 */
export function onEvents<Arrival extends Delivery = Delivery>(
  handlers: EventHandlers<Arrival>,
  {
    log = console.error,
  }: {
    /** Called with one line for each type without a handler of its own. Default `console.error`. */
    log?: (message: string) => void;
  } = {},
): (event: WebhookEvent, delivery: Arrival) => Promise<void> {
  requireHandlers(handlers);
  const loggedTypes = new Set<string>();

  function logType({ id, type }: WebhookEvent): void {
    if (loggedTypes.has(type) || loggedTypes.size === maxLoggedTypes) return;
    loggedTypes.add(type);
    const fate = handlers.otherTypes === undefined ? "it is ignored" : "otherTypes is called";
    const advice = isKnownType(type)
      ? "Add a handler if you need these events; if not, do not select the type in the service's console."
      : "A newer version of this package may know the type.";
    const event = `${toPrintable(type)} (${toPrintable(id)})`;
    const line = `onEvents has no handler for ${event}: ${fate}. ${advice} Further events of this type are not logged.`;
    notify(log, `webhook-verify: ${line}`);
  }

  return async (event, delivery) => {
    const { type } = event;
    const handler = isKnownType(type) ? (handlers[type] as Handler<WebhookEvent, Arrival>) : undefined;
    if (handler === undefined) {
      logType(event);
      await handlers.otherTypes?.(event, delivery);
      return;
    }
    const unexpected = findUnexpectedData(event);
    if (unexpected.length === 0) {
      await handler(event, delivery);
    } else if (handlers.unexpectedData !== undefined) {
      await handlers.unexpectedData(event as UnknownEvent, delivery);
    } else {
      const message = `The data of ${type} lacks what its handler needs at ${unexpected.join(", ")}: update this package, or pass onEvents a handler "unexpectedData".`;
      throw withSafeMessage(new Error(message));
    }
  };
}

const exampleHandlers = '{ "balance.changed": (event) => …, otherTypes: () => {} }';

/** @throws {TypeError} naming the handler to change. */
function requireHandlers(handlers: unknown): void {
  if (typeof handlers !== "object" || handlers === null)
    throw new TypeError(`onEvents needs an object of handlers: ${exampleHandlers}.`);
  const names = [...neededData.keys(), "unexpectedData", "otherTypes"];
  for (const [name, handler] of Object.entries(handlers)) {
    if (!names.includes(name)) {
      const nearest = findNearestName(name, names);
      const hint = nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
      throw new TypeError(
        `onEvents has a handler for "${name.slice(0, 50)}", which is not an event type of this version.${hint} The names are ${names.join(", ")}; for a newer type, use "otherTypes".`,
      );
    }
    if (typeof handler === "function") continue;
    const type = handler === null ? "null" : typeof handler;
    throw new TypeError(
      `onEvents: the handler of "${name}" must be a function; it is ${type}. Omit "${name}", or check where the handler comes from.`,
    );
  }
  if (Object.keys(handlers).every((name) => name === "unexpectedData"))
    throw new TypeError(`onEvents has no handler for any event type: ${exampleHandlers}.`);
}
