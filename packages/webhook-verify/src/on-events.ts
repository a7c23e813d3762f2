/** Calls the handler of an event by its type. The compiler reports types without a handler. */

import { toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import { notify, withSafeMessage } from "@loyalty-cards/internal/reporting";
import type { Delivery } from "./delivery.ts";
import {
  findUnexpectedData,
  getKnownTypes,
  isKnownType,
  type KnownEvents,
  type UnknownEvent,
  type WebhookEvent,
} from "./event.ts";

/** The result of a handler is awaited and ignored. */
type Handler<Event, Arrival> = (event: Event, delivery: Arrival) => unknown;
type Handlers<Arrival> = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type], Arrival> };

interface CommonHandlers<Arrival> {
  /**
   * Called in place of the handler of a type when `data` lacks what that handler needs. Without it, the function rejects: a receiver
   * responds 503 and the service delivers again; an inbox retries, and then stores the event as a dead letter.
   */
  unexpectedData?: Handler<UnknownEvent, Arrival>;
  /** Called for the types without a handler of their own, newer ones included. */
  otherTypes?: Handler<WebhookEvent, Arrival>;
}

/** A handler for each event type. @inline */
interface HandlersOfEveryEvent<Arrival extends Delivery = Delivery>
  extends Handlers<Arrival>,
    CommonHandlers<Arrival> {}

/** Handlers for some event types, and `otherTypes` for the rest. @inline */
interface HandlersWithOtherTypes<Arrival extends Delivery = Delivery>
  extends Partial<Handlers<Arrival>>,
    CommonHandlers<Arrival> {
  /** Called for the types without a handler of their own, newer ones included. */
  otherTypes: Handler<WebhookEvent, Arrival>;
}

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
      ? "Add a handler if you need these events; if not, do not select the type in the console."
      : "A newer version of this package may know the type.";
    notify(
      log,
      `webhook-verify: onEvents has no handler for ${toPrintable(type)} (${toPrintable(id)}): ${fate}. ${advice} Further events of this type are not logged.`,
    );
  }

  return async (event, delivery) => {
    const handler = isKnownType(event.type)
      ? (handlers[event.type] as Handler<WebhookEvent, Arrival> | undefined)
      : undefined;
    if (handler === undefined) {
      logType(event);
      await handlers.otherTypes?.(event, delivery);
      return;
    }
    const unexpected = findUnexpectedData(event);
    if (unexpected.length === 0) await handler(event, delivery);
    else if (handlers.unexpectedData !== undefined) {
      await handlers.unexpectedData(event as UnknownEvent, delivery);
    } else {
      throw withSafeMessage(
        new Error(
          `The data of ${event.type} lacks what its handler needs at ${unexpected.join(", ")}: update this package, or pass onEvents a handler "unexpectedData".`,
        ),
      );
    }
  };
}

/** @throws {TypeError} naming the handler to change. */
function requireHandlers(handlers: unknown): void {
  if (typeof handlers !== "object" || handlers === null)
    throw new TypeError(
      'onEvents needs an object of handlers: { "balance.changed": (event) => …, otherTypes: () => {} }.',
    );
  const names = [...getKnownTypes(), "unexpectedData", "otherTypes"];
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
  if (Object.keys(handlers).every((name) => name === "unexpectedData")) {
    throw new TypeError(
      'onEvents has no handler for any event type: { "balance.changed": (event) => …, otherTypes: () => {} }.',
    );
  }
}
