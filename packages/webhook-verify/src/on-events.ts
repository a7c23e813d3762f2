/** Calls the handler of an event by its type. The compiler reports types without a handler. */

import type { Delivery } from "./dedupe.ts";
import {
  findUnexpectedData,
  getKnownTypes,
  isKnownEvent,
  isKnownType,
  type KnownEvent,
  type KnownEvents,
  type UnknownEvent,
  type WebhookEvent,
} from "./event.ts";

/** Its result is awaited and ignored. */
type Handler<Event, Arrival> = (event: Event, delivery: Arrival) => unknown;
type Handlers<Arrival> = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type], Arrival> };

interface CommonHandlers<Arrival> {
  /** Called for types that are newer than this version, and for known types whose `data` differs from the contract. */
  unexpectedData?: Handler<UnknownEvent, Arrival>;
  /** Called for every event that has no handler of its own. */
  otherTypes?: Handler<WebhookEvent, Arrival>;
}

/** A handler for each event type. */
export interface HandlersOfEveryEvent<Arrival extends Delivery = Delivery>
  extends Handlers<Arrival>,
    CommonHandlers<Arrival> {}

/** Handlers for some event types, and `otherTypes` for the rest. */
export interface HandlersWithOtherTypes<Arrival extends Delivery = Delivery>
  extends Partial<Handlers<Arrival>>,
    CommonHandlers<Arrival> {
  /** Called for every event that has no handler of its own. */
  otherTypes: Handler<WebhookEvent, Arrival>;
}

/**
 * A handler for each event type; or `otherTypes`, and handlers for some types. `unexpectedData` is called for types that are newer than this
 * version, and for events of a known type whose `data` differs from the contract.
 */
export type EventHandlers<Arrival extends Delivery = Delivery> =
  // In this order, the compiler error for a missing handler names the event type.
  HandlersWithOtherTypes<Arrival> | HandlersOfEveryEvent<Arrival>;

/**
 * Creates one function from handlers by event type, for `handler`, `afterResponse` or the worker of an inbox. Uses the type in the signed
 * body. The second argument is passed to the handler unchanged.
 *
 * The handler of a type is called only when `data` has the declared members (spec 6.2). An event whose `data` differs
 * is passed to `unexpectedData`, else to `otherTypes`. Without both, the function rejects: a receiver responds 503 and the service delivers
 * again; an inbox retries, and then stores the event as a dead letter. Nothing is lost.
 * @throws {TypeError} for a handler of an unknown event type, and for a handler that is not a function.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const balances = new Map<string, number>();
 * export const handler = onEvents({
 *   "balance.changed": ({ data }) => balances.set(data.passId, data.balance),
 *   otherTypes: () => {}, // every other event
 * });
 * ```
 */
export function onEvents<Arrival extends Delivery = Delivery>(
  handlers: EventHandlers<Arrival>,
): (event: WebhookEvent, delivery: Arrival) => Promise<void> {
  if (typeof handlers !== "object" || handlers === null)
    throw new TypeError(
      'onEvents needs an object of handlers: { "balance.changed": (event) => …, otherTypes: () => {} }.',
    );
  const handlerNames = [...getKnownTypes(), "unexpectedData", "otherTypes"];
  for (const [name, handler] of Object.entries(handlers)) {
    if (!handlerNames.includes(name)) {
      throw new TypeError(
        `onEvents has a handler for "${name}", which is not an event type of this version.${suggestion(name, handlerNames)} The names are ${handlerNames.join(", ")}; "unexpectedData" is called for newer types.`,
      );
    }
    if (typeof handler === "function") continue;
    const type = handler === null ? "null" : typeof handler;
    throw new TypeError(
      `onEvents: the handler of "${name}" must be a function; it is ${type}. Omit "${name}", or check where the handler comes from.`,
    );
  }
  return async (event, delivery) => {
    if (isKnownEvent(event)) {
      const handler = handlers[event.type] as Handler<KnownEvent, Arrival> | undefined;
      await (handler ?? handlers.otherTypes)?.(event, delivery);
      return;
    }
    const handler = handlers.unexpectedData ?? handlers.otherTypes;
    if (handler !== undefined) await handler(event, delivery);
    else if (isKnownType(event.type)) {
      throw new Error(
        `The data of ${String(event.type)} differs from the contract at ${findUnexpectedData(event).join(", ")}: pass onEvents a handler "unexpectedData" or "otherTypes" for such events.`,
      );
    }
  };
}

/** Suggests a name for a misspelling such as `balance.change`, `balanceChanged` or `blance.changed`. */
function suggestion(name: string, names: string[]): string {
  const [nearest, distance] = names
    .map((known) => [known, editDistance(letters(name), letters(known))] as const)
    .reduce((best, each) => (each[1] < best[1] ? each : best));
  return distance <= nearest.length / 3 ? ` Did you mean "${nearest}"?` : "";
}

const letters = (name: string) =>
  name
    .slice(0, 50)
    .toLowerCase()
    .replace(/[^a-z]/g, "");

/** The number of letters to add, remove or replace (Levenshtein). */
function editDistance(from: string, to: string): number {
  let distances = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...from].entries()) {
    const next = [row + 1];
    for (let column = 0; column < to.length; column++) {
      const replaced = (distances[column] as number) + (letter === to[column] ? 0 : 1);
      next.push(Math.min(replaced, (distances[column + 1] as number) + 1, (next[column] as number) + 1));
    }
    distances = next;
  }
  return distances.at(-1) as number;
}
