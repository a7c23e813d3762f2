/** Receives deliveries in NestJS, on Express and on Fastify. */

import type { ReceiverOptions } from "../options.ts";
import { createReceiverOf } from "../receiver.ts";
import { type NodeRequest, type NodeResponse, nodeHandler, type ParsedBody } from "./node-request.ts";

/** Node's request in a middleware; the platform's in a controller, which is a wrapper in Fastify. */
export type NestRequest = NodeRequest | ({ raw: NodeRequest } & ParsedBody);

/** Node's response in a middleware; the platform's in a controller. */
export type NestResponse = NodeResponse | { raw: NodeResponse; hijack(): unknown };

const fix =
  'In main.ts write app.use("/webhooks", nestReceiver({ … })) before app.listen(), where no parser runs before it; ' +
  "for a controller create the app with { rawBody: true }.";

/**
 * Creates a middleware for `app.use("/webhooks", nestReceiver({ … }))` in main.ts. A controller can call it too, with its request
 * and response.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nestReceiver } from "@loyalty-cards/webhook-verify/nest";
 * import type { INestApplication } from "@nestjs/common";
 *
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   otherTypes: () => {},
 * });
 * // In main.ts, after NestFactory.create(AppModule) and before app.listen():
 * export const receiveWebhooks = (app: INestApplication) =>
 *   app.use("/webhooks", nestReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", handler }));
 * ```
 */
export function nestReceiver(
  options: ReceiverOptions,
): (request: NestRequest, response: NestResponse) => Promise<void> {
  const handle = nodeHandler(createReceiverOf({ name: "nestReceiver" }, options), options, fix);
  return (request, response) => {
    if ("hijack" in response) response.hijack(); // Fastify must not send a second response
    return handle("raw" in request ? request.raw : request, "raw" in response ? response.raw : response, {
      parsedBody: request,
    });
  };
}
