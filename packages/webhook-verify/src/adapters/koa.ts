/** Receives deliveries in Koa 2 and 3. */
import { handingReceiver } from "../handing-receiver.ts";
import { reporter } from "../outcome.ts";
import type { ReceiverOptions } from "../receiver.ts";
import {
  afterClose,
  closeUnread,
  headersFor,
  type KeptBody,
  type NodeRequest,
  type NodeResponse,
  receiveFrom,
  respondAnyway,
} from "./node-request.ts";

/** As much of Koa's context as a delivery needs. */
export interface KoaContext {
  req: NodeRequest;
  res: NodeResponse;
  request: KeptBody & { req: unknown };
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  /** False when Koa must not respond. */
  respond?: boolean | undefined;
}

const fix =
  'Mount router.post("/webhooks", koaReceiver({ … })) in a router that is used above app.use(bodyParser()).';

/**
 * A middleware for one route; it answers and calls nobody.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import Router from "@koa/router";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { koaReceiver } from "@loyalty-cards/webhook-verify/koa";
 * import Koa from "koa";
 *
 * const accept = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   other: () => {},
 * });
 * const router = new Router();
 * router.post("/webhooks", koaReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", accept }));
 * export const app = new Koa().use(router.routes()); // before bodyParser()
 * ```
 */
export function koaReceiver(options: ReceiverOptions): (context: KoaContext) => Promise<void> {
  const receive = handingReceiver(options);
  const reporting = reporter(options);
  return async (context) => {
    const { req: request, res: response } = context;
    const answer = await receiveFrom(receive, request, fix, context.request);
    afterClose(response, answer.afterAnswer);
    try {
      context.body = null; // before the status, which it sets
      context.status = answer.status;
      context.set(headersFor(request, answer.headers));
      closeUnread(request);
    } catch (error) {
      context.respond = false;
      reporting.unexpectedError(error, respondAnyway(response, answer));
    }
  };
}
