/** Dispatches an event to the handler of its type; the compiler names a forgotten one. */
import {
  isKnownEvent,
  isKnownType,
  type KnownEvent,
  type KnownEvents,
  knownTypes,
  type UnknownEvent,
  unexpectedData,
  type WebhookEvent,
} from "./event.ts";
import type { Delivery } from "./take-over.ts";

/** What it returns is awaited, and otherwise ignored. */
type Handler<Event, Arrival> = (event: Event, delivery: Arrival) => unknown;
type Handlers<Arrival> = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type], Arrival> };

interface CommonHandlers<Arrival> {
  /** Called with events of a type that is newer than this version, and with known types whose `data` differs from the contract. */
  unknown?: Handler<UnknownEvent, Arrival>;
  /** Called with every event that has no handler of its own. */
  other?: Handler<WebhookEvent, Arrival>;
}

/** A handler for every event. */
export interface HandlersOfEveryEvent<Arrival extends Delivery = Delivery>
  extends Handlers<Arrival>,
    CommonHandlers<Arrival> {}

/** Handlers for some events, and `other` for the rest. */
export interface HandlersWithOther<Arrival extends Delivery = Delivery>
  extends Partial<Handlers<Arrival>>,
    CommonHandlers<Arrival> {
  /** Called with every event that has no handler of its own. */
  other: Handler<WebhookEvent, Arrival>;
}

/**
 * A handler for every event; or `other`, and handlers for some. `unknown` gets types newer than this version, and events of a
 * known type whose `data` differs from the contract.
 */
export type EventHandlers<Arrival extends Delivery = Delivery> =
  // In this order the compiler's error about a forgotten event names the event.
  HandlersWithOther<Arrival> | HandlersOfEveryEvent<Arrival>;

/**
 * Makes one function of many, for `accept`, `process` or an inbox's worker. Decides by the signed body only. What a
 * worker hands over beside the event reaches the handlers as it is.
 *
 * A handler of a type is called only when `data` has the members that its type promises (spec 6.2). An event whose `data` differs
 * goes to `unknown`, else to `other`. With neither of the two the function rejects: a receiver responds 503 and the service delivers
 * again, an inbox tries again and keeps the event as a dead letter, so nothing is lost.
 * @throws {TypeError} for a handler of an event that there is not, and for a handler that is not a function.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const balances = new Map<string, number>();
 * export const accept = onEvents({
 *   "balance.changed": ({ data }) => balances.set(data.passId, data.balance),
 *   other: () => {}, // every other event
 * });
 * ```
 */
export function onEvents<Arrival extends Delivery = Delivery>(
  handlers: EventHandlers<Arrival>,
): (event: WebhookEvent, delivery: Arrival) => Promise<void> {
  if (typeof handlers !== "object" || handlers === null)
    throw new TypeError(
      'onEvents needs an object of handlers: { "balance.changed": (event) => …, other: () => {} }.',
    );
  const handlerNames = [...knownTypes(), "unknown", "other"];
  for (const [name, handler] of Object.entries(handlers)) {
    if (!handlerNames.includes(name)) {
      throw new TypeError(
        `onEvents has a handler for "${name}", which is not an event type of this version.${suggestion(name, handlerNames)} The names are ${handlerNames.join(", ")}; "unknown" gets newer types.`,
      );
    }
    if (typeof handler === "function") continue;
    const given = handler === null ? "null" : typeof handler;
    throw new TypeError(
      `onEvents: the handler of "${name}" must be a function; it is ${given}. Leave "${name}" out, or check where the handler comes from.`,
    );
  }
  return async (event, delivery) => {
    if (isKnownEvent(event)) {
      const handler = handlers[event.type] as Handler<KnownEvent, Arrival> | undefined;
      await (handler ?? handlers.other)?.(event, delivery);
      return;
    }
    const handler = handlers.unknown ?? handlers.other;
    if (handler !== undefined) await handler(event, delivery);
    else if (isKnownType(event.type)) {
      throw new Error(
        `The data of ${String(event.type)} differs from the contract at ${unexpectedData(event).join(", ")}: give onEvents a handler "unknown" or "other" for such events.`,
      );
    }
  };
}

/** For `balance.change`, `balanceChanged` and `blance.changed` alike. */
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

/** How many letters have to be added, removed or replaced (Levenshtein). */
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
