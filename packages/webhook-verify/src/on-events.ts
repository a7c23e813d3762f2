/** Dispatches an event to the handler of its type; the compiler shows a forgotten one. */
import {
  isKnown,
  isKnownType,
  type KnownEvent,
  type KnownEvents,
  type UnknownEvent,
  type WebhookEvent,
} from "./event.ts";
import type { Delivery } from "./take-over.ts";

type Handler<Event, Arrival> = (event: Event, delivery: Arrival) => void | Promise<void>;
type Handlers<Arrival> = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type], Arrival> };

/** A handler for every event; or `other`, and handlers for some. `unknown` sees types newer than this version. */
export type EventHandlers<Arrival extends Delivery = Delivery> =
  | (Handlers<Arrival> & {
      unknown?: Handler<UnknownEvent, Arrival>;
      other?: Handler<WebhookEvent, Arrival>;
    })
  | (Partial<Handlers<Arrival>> & {
      unknown?: Handler<UnknownEvent, Arrival>;
      other: Handler<WebhookEvent, Arrival>;
    });

/**
 * Makes one function of many, for `accept`, `process` or an inbox's worker. Decides by the signed `type` only. What a
 * worker hands over beside the event reaches the handlers as it is.
 */
export function onEvents<Arrival extends Delivery = Delivery>(
  handlers: EventHandlers<Arrival>,
): (event: WebhookEvent, delivery: Arrival) => Promise<void> {
  for (const name of Object.keys(handlers)) {
    if (isKnownType(name) || name === "unknown" || name === "other") continue;
    throw new TypeError(
      `onEvents has a handler for "${name}", which is no event of this version: use unknown.`,
    );
  }
  return async (event, delivery) => {
    if (isKnown(event)) {
      const handler = handlers[event.type] as Handler<KnownEvent, Arrival> | undefined;
      await (handler ?? handlers.other)?.(event, delivery);
    } else {
      await (handlers.unknown ?? handlers.other)?.(event, delivery);
    }
  };
}
