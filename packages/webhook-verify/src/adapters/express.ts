/** Receives deliveries in Express 4 and 5. */
import type { RequestHandler } from "express";
import type { WebhookEvent } from "../event.ts";
import { handsOver } from "../handing-receiver.ts";
import { reporter } from "../outcome.ts";
import { createReceiver, type ReceiverOptions } from "../receiver.ts";
import { nodeHandler } from "./node-request.ts";

declare global {
  namespace Express {
    interface Request {
      /** The verified event, when the receiver has nobody to hand it to but the next handler. */
      webhookEvent?: WebhookEvent;
    }
  }
}

const fix =
  'Mount app.post("/webhooks", expressReceiver({ … })) above app.use(express.json()), or exclude that path from it.';

const nobodyFollows =
  "a delivery was verified and then got the response 404: expressReceiver has neither accept, process nor inbox, and no handler after it responded.";
const nobodyFollowsFix =
  'Write expressReceiver({ secret, accept: (event) => … }), or a handler behind it: app.post("/webhooks", expressReceiver({ secret }), (req, res) => { …req.webhookEvent…; res.sendStatus(204); }).';

/**
 * A route handler for deliveries. With neither `accept`, `process` nor `inbox` it sets `req.webhookEvent` and calls
 * `next()`: the response is then the next handler's. Where that is a 404, because no handler follows, the log says so.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
 * import express from "express";
 *
 * const balances = new Map<string, number>();
 * const accept = onEvents({
 *   "balance.changed": ({ data }) => balances.set(data.passId, data.balance),
 *   other: () => {},
 * });
 * const app = express();
 * app.post("/webhooks", expressReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", accept }));
 * app.use(express.json()); // after the webhook route
 * ```
 */
export function expressReceiver(options: ReceiverOptions): RequestHandler {
  const handle = nodeHandler(createReceiver(options), options, fix);
  const handsOn = !handsOver(options);
  if (handsOn && options.dedupe !== undefined) {
    throw new TypeError(
      "dedupe needs accept, process or inbox: the receiver cannot know how the next handler fares.",
    );
  }
  const reporting = reporter(options);
  if (!handsOn) return (request, response) => handle(request, response);
  return (request, response, next) => {
    const passOn = (event: WebhookEvent) => {
      request.webhookEvent = event;
      response.once("finish", () => {
        if (response.statusCode === 404)
          reporting.misconfigured("no-handler", nobodyFollows, nobodyFollowsFix);
      });
      next();
    };
    return handle(request, response, { passOn });
  };
}
