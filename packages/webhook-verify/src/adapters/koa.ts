/** Receives deliveries in Koa 2 and 3. */
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import {
  afterClose,
  headersFor,
  type KeptBody,
  type NodeRequest,
  type NodeResponse,
  receiveFrom,
} from "./node-request.ts";

/** As much of Koa's context as a delivery needs. */
export interface KoaContext {
  req: NodeRequest;
  res: NodeResponse;
  request: KeptBody & { req: unknown };
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

const fix =
  'Mount router.post("/webhooks", koaReceiver({ … })) in a router that is used above app.use(bodyParser()).';

/** A middleware for one route; it answers and calls nobody. @throws {TypeError} as createReceiver does. */
export function koaReceiver(options: ReceiverOptions): (context: KoaContext) => Promise<void> {
  const receive = handingReceiver(options);
  return async (context) => {
    const answer = await receiveFrom(receive, context.req, fix, context.request);
    context.body = null; // before the status, which it sets
    context.status = answer.status;
    context.set(headersFor(context.res, answer.headers));
    afterClose(context.res, answer.afterAnswer);
  };
}
