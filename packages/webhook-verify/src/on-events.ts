/** onEvents: one function from handlers by event type. */

import {
  createReturnedFunctionError,
  createTypeError,
  withSafeMessage,
} from "@loyalty-cards/internal/errors";
import { formatType, toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { writeLine } from "@loyalty-cards/internal/reporting";
import { eventTypes } from "@loyalty-cards/openapi/events";
import {
  type Delivery,
  findUnexpectedData,
  isKnownType,
  type KnownEvents,
  type UnknownEvent,
  type WebhookEvent,
} from "./event.ts";

/** Its result is awaited; a function as the result is an error, anything else is ignored. */
type Handler<Event, Arrival> = (event: Event, delivery: Arrival) => unknown;
type Handlers<Arrival> = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type], Arrival> };

interface UnexpectedDataHandler<Arrival> {
  /**
   * Called in place of the handler of a type when `data` lacks what that handler needs. Without it,
   * the function rejects: a receiver responds 503 and the service delivers again; an inbox retries,
   * and then stores the event as a dead letter.
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
 * A handler for each event type; or `otherTypes`, and handlers for some types. `unexpectedData` is
 * called for events of a handled type whose `data` lacks what the handler needs.
 */
export type EventHandlers<Arrival extends Delivery = Delivery> =
  // In this order, the compiler error for a missing handler names the event type.
  HandlersWithOtherTypes<Arrival> | HandlersOfEveryEvent<Arrival>;

/**
 * Each type is logged once, up to this number of types: the service could send any number of new
 * ones.
 */
const maxLoggedTypes = 100;

/**
 * Creates one function from handlers by event type, for `handler`, `afterResponse` or the worker of
 * an inbox. It uses the type in the signed body, and passes its second argument to the handler
 * unchanged.
 *
 * The handler of a type is called when `data` has what it needs: the members that are not optional
 * in its type. Otherwise `unexpectedData` is called, and without it the function rejects, so that
 * no event of a handled type is lost; it also rejects when a handler returns a function. A type
 * without a handler goes to `otherTypes`. It is logged once when this version does not know it, or
 * when there is no `otherTypes`.
 * @throws {TypeError} for a handler of an unknown event type, for a handler that is not a function,
 * and when there is none.
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
  options: {
    /** Called with one line for each type that is new or ignored. Default `console.error`. */
    log?: (message: string) => void;
  } = {},
): (event: WebhookEvent, delivery: Arrival) => Promise<void> {
  requireHandlers(handlers);
  requireKnownNames("onEvents", options, { log: true });
  const { log = console.error } = options;
  const loggedTypes = new Set<string>();

  /** Logs a type that this version does not know, or that is ignored. */
  function logType({ id, type }: WebhookEvent): void {
    if (isKnownType(type) && handlers.otherTypes !== undefined) return;
    if (loggedTypes.has(type) || loggedTypes.size === maxLoggedTypes) return;
    loggedTypes.add(type);
    const fate = handlers.otherTypes === undefined ? "it is ignored" : "otherTypes is called";
    const advice = isKnownType(type)
      ? "Add a handler or otherTypes, or do not select the type in the service's console."
      : "Look for a newer version of this package.";
    const event = `${toPrintable(type)} (${toPrintable(id)})`;
    const line = `onEvents has no handler for ${event}: ${fate}. ${advice} Further events of this type are not logged.`;
    writeLine(log, `webhook-verify: ${line}`);
  }

  /**
   * Returns the handler of an event; undefined when its type is ignored.
   * @throws when the handler cannot be called with the data.
   */
  function selectHandler(event: WebhookEvent) {
    const { type } = event;
    const handler = isKnownType(type)
      ? (handlers[type] as Handler<WebhookEvent, Arrival>)
      : undefined;
    if (handler === undefined) {
      logType(event);
      return handlers.otherTypes;
    }
    const unexpected = findUnexpectedData(event);
    if (unexpected.length === 0) return handler;
    if (handlers.unexpectedData !== undefined) return handlers.unexpectedData;
    const message = `The data of ${type} lacks what its handler needs at ${unexpected.join(", ")}: update this package, or pass onEvents a handler "unexpectedData".`;
    throw withSafeMessage(new Error(message));
  }

  return async (event, delivery) => {
    const { id, type } = event ?? {};
    if (typeof id !== "string" || typeof type !== "string") throw createNoEventError();
    const handler = selectHandler(event);
    const result = await handler?.(event as UnknownEvent, delivery);
    if (typeof result === "function") throw createReturnedFunctionError("A handler of onEvents");
  };
}

const createNoEventError = (): Error =>
  createTypeError(
    "The function of onEvents was called with something that is not an event. For the worker of a queue, write inboxHandler(onEvents({ … })).",
  );

const exampleHandlers = '{ "balance.changed": (event) => …, otherTypes: () => {} }';
const handlerNames = [...eventTypes, "unexpectedData", "otherTypes"];

/** @throws {TypeError} naming the handler to change. */
function requireHandlers(handlers: unknown): void {
  if (typeof handlers !== "object" || handlers === null)
    throw new TypeError(`onEvents needs an object of handlers: ${exampleHandlers}.`);
  if ("createdAt" in handlers)
    throw createTypeError(
      "onEvents was called with an event instead of handlers: call it once, as in handler: onEvents({ … }).",
    );
  for (const [name, handler] of Object.entries(handlers)) {
    requireHandlerName(name);
    if (typeof handler === "function") continue;
    throw new TypeError(
      `onEvents: the handler of "${name}" must be a function; it is ${formatType(handler)}. Omit "${name}", or check where the handler comes from.`,
    );
  }
  if (Object.keys(handlers).every((name) => name === "unexpectedData"))
    throw new TypeError(`onEvents has no handler for any event type: ${exampleHandlers}.`);
}

function requireHandlerName(name: string): void {
  if (handlerNames.includes(name)) return;
  const nearest = findNearestName(name, handlerNames);
  const hint = nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
  throw new TypeError(
    `onEvents has a handler for "${name.slice(0, 50)}", which is not an event type of this version.${hint} The names are ${handlerNames.join(", ")}; for a newer type, use "otherTypes".`,
  );
}
