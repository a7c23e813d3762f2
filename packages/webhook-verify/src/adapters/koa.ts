/** Receives deliveries in Koa 2 and 3. */
import type { ReceiverOptions } from "../options.ts";
import { createReceiverOf } from "../receiver.ts";
import {
  afterClose,
  closeUnread,
  headersFor,
  type IncomingMessage,
  receiveFrom,
  respondAfterError,
  type ServerResponse,
} from "./node-request.ts";

/** The parts of Koa's context that a receiver needs. */
type KoaContext = {
  req: IncomingMessage;
  res: ServerResponse;
  request: { req: unknown; body?: unknown; rawBody?: unknown };
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  /** False when Koa must not respond. */
  respond?: boolean | undefined;
};

const fix =
  'Mount router.post("/webhooks/loyalty", koaReceiver({ … })) in a router that is used above app.use(bodyParser()).';

/**
 * Creates a middleware for one route. It responds, and does not call the next middleware.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import Router from "@koa/router";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { koaReceiver } from "@loyalty-cards/webhook-verify/koa";
 * import Koa from "koa";
 *
 * const handler = onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} });
 * const router = new Router();
 * router.post("/webhooks/loyalty", koaReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", handler }));
 * export const app = new Koa().use(router.routes()); // before bodyParser()
 * ```
 */
export function koaReceiver(options: ReceiverOptions): (context: KoaContext) => Promise<void> {
  const { receive, reporter } = createReceiverOf({ name: "koaReceiver", fix }, options);
  return async (context) => {
    const { req: request, res: response } = context;
    const result = await receiveFrom(receive, request, context.request);
    afterClose(response, result.afterResponse);
    try {
      context.body = null; // before the status, because this sets it to 204
      context.status = result.status;
      context.set(headersFor(request, result.headers));
      closeUnread(request);
    } catch (error) {
      context.respond = false;
      reporter.logUnexpectedError(error, respondAfterError(response, result));
    }
  };
}
