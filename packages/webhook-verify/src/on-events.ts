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

type Handler<Event> = (event: Event, delivery: Delivery) => void | Promise<void>;
type Handlers = { [Type in keyof KnownEvents]: Handler<KnownEvents[Type]> };

/** A handler for every event; or `other`, and handlers for some. `unknown` sees types newer than this version. */
export type EventHandlers =
  | (Handlers & { unknown?: Handler<UnknownEvent>; other?: Handler<WebhookEvent> })
  | (Partial<Handlers> & { unknown?: Handler<UnknownEvent>; other: Handler<WebhookEvent> });

/** Makes one function of many, for `accept`, `process` or an inbox's worker. Decides by the signed `type` only. */
export function onEvents(
  handlers: EventHandlers,
): (event: WebhookEvent, delivery: Delivery) => Promise<void> {
  for (const name of Object.keys(handlers)) {
    if (isKnownType(name) || name === "unknown" || name === "other") continue;
    throw new TypeError(
      `onEvents has a handler for "${name}", which is no event of this version: use unknown.`,
    );
  }
  return async (event, delivery) => {
    if (isKnown(event)) {
      const handler = handlers[event.type] as Handler<KnownEvent> | undefined;
      await (handler ?? handlers.other)?.(event, delivery);
    } else {
      await (handlers.unknown ?? handlers.other)?.(event, delivery);
    }
  };
}
