/** Receives deliveries in Express 4 and 5. */
import type { RequestHandler } from "express";
import type { WebhookEvent } from "../event.ts";
import { handsOver } from "../handing-receiver.ts";
import { createReceiver, type ReceiverOptions } from "../receiver.ts";
import { receiveFrom, respond } from "./node-request.ts";

declare global {
  namespace Express {
    interface Request {
      /** The verified event, when the receiver has nobody to hand it to but the next handler. */
      webhookEvent?: WebhookEvent;
    }
  }
}

const fix =
  'Mount app.post("/webhooks", expressReceiver({ … })) above app.use(express.json()), or skip that path in it.';

/**
 * A route handler for deliveries. With neither `accept`, `process` nor `inbox` it sets `req.webhookEvent` and calls
 * `next()`: the answer is then the next handler's.
 * @throws {TypeError} as createReceiver does.
 */
export function expressReceiver(options: ReceiverOptions): RequestHandler {
  const receive = createReceiver(options);
  const handsOn = !handsOver(options);
  if (handsOn && options.dedupe !== undefined) {
    throw new TypeError(
      "dedupe needs accept, process or inbox: the receiver cannot know how the next handler fares.",
    );
  }
  return async (request, response, next) => {
    const answer = await receiveFrom(receive, request, fix);
    if (handsOn && answer.event !== undefined) {
      request.webhookEvent = answer.event;
      next();
    } else {
      await respond(response, answer);
    }
  };
}
