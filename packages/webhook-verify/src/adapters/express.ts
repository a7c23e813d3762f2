/** Receives deliveries in Express 4 and 5. */
import type { RequestHandler } from "express";
import type { WebhookEvent } from "../event.ts";
import { nodeHandler } from "../node-request.ts";
import type { ReceiverOptions } from "../options.ts";

declare global {
  namespace Express {
    interface Request {
      /**
       * The verified event, when the receiver has no `handler`, `afterResponse` or `inbox` and the
       * next handler responds.
       */
      webhookEvent?: WebhookEvent;
    }
  }
}

const bodyAdvice =
  'Mount app.post("/webhooks/loyalty", expressReceiver({ … })) above app.use(express.json()), or exclude that path from it.';

const missingHandler =
  "a delivery was verified and then got the response 404: expressReceiver has neither handler, afterResponse nor inbox, and no handler after it responded. " +
  'Write expressReceiver({ secret, handler: (event) => … }), or a handler after it: app.post("/webhooks/loyalty", expressReceiver({ secret }), (req, res) => { …req.webhookEvent…; res.sendStatus(204); }).';

const missingNext =
  "expressReceiver was called without next, and has no handler: write expressReceiver({ secret, handler: (event) => … }), or pass next.";

/**
 * Creates a route handler. Without `handler`, `afterResponse` and `inbox` it sets
 * `req.webhookEvent` and calls `next()`, and the next handler responds. When no handler follows and
 * the response is 404, that is logged.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
 * import express from "express";
 *
 * const secret = () => process.env.LOYALTY_SIGNING_SECRET;
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.balance),
 *   otherTypes: () => {},
 * });
 * const app = express();
 * app.post("/webhooks/loyalty", expressReceiver({ secret, handler }));
 * app.use(express.json()); // after the webhook route
 * ```
 */
export function expressReceiver(options: ReceiverOptions): RequestHandler {
  const { handle, reporter, handlesEvents } = nodeHandler(
    { name: "expressReceiver", bodyAdvice, callerHandlesEvent: true },
    options,
  );
  if (handlesEvents) return (request, response) => handle(request, response);
  return (request, response, next) => {
    if (typeof next !== "function") throw new TypeError(missingNext);
    const forwardEvent = (event: WebhookEvent) => {
      request.webhookEvent = event;
      response.once("finish", () => {
        if (response.statusCode === 404) reporter.write(missingHandler, { limitBy: "no-handler" });
      });
      next();
    };
    return handle(request, response, forwardEvent);
  };
}
