/** Receives deliveries in NestJS, on Express and on Fastify. */
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { type KeptBody, type NodeRequest, type NodeResponse, nodeHandler } from "./node-request.ts";

/** In a middleware Node's own request; in a controller the platform's, which in Fastify is a wrapper. */
export type NestRequest = NodeRequest | ({ raw: NodeRequest } & KeptBody);

/** In a middleware Node's own response; in a controller the platform's. */
export type NestResponse = NodeResponse | { raw: NodeResponse; hijack(): unknown };

const fix =
  'In main.ts write app.use("/webhooks", nestReceiver({ … })) before app.listen(), where no parser comes first; ' +
  "for a controller create the app with { rawBody: true }.";

/**
 * For `app.use("/webhooks", nestReceiver({ … }))` in main.ts, or to be called by a controller with its request and
 * response.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nestReceiver } from "@loyalty-cards/webhook-verify/nest";
 * import type { INestApplication } from "@nestjs/common";
 *
 * const accept = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   other: () => {},
 * });
 * // In main.ts, after NestFactory.create(AppModule) and before app.listen():
 * export const receiveWebhooks = (app: INestApplication) =>
 *   app.use("/webhooks", nestReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", accept }));
 * ```
 */
export function nestReceiver(
  options: ReceiverOptions,
): (request: NestRequest, response: NestResponse) => Promise<void> {
  const handle = nodeHandler(handingReceiver(options), options, fix);
  return (request, response) => {
    if ("hijack" in response) response.hijack(); // the answer is ours: Fastify must not make a second one
    return handle("raw" in request ? request.raw : request, "raw" in response ? response.raw : response, {
      kept: request,
    });
  };
}
