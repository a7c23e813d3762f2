/** Receives deliveries in NestJS, on Express and on Fastify. */
import type { ReceiverOptions } from "../options.ts";
import { type IncomingMessage, nodeHandler, type ParsedBody, type ServerResponse } from "./node-request.ts";

const fix =
  'In main.ts write app.use("/webhooks/loyalty", nestReceiver({ … })) before app.listen(), where no parser runs before it; ' +
  "for a controller create the app with { rawBody: true }.";

/**
 * Creates a middleware for `app.use("/webhooks/loyalty", nestReceiver({ … }))` in main.ts. A controller can call it too, with its request
 * and response.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nestReceiver } from "@loyalty-cards/webhook-verify/nest";
 * import type { INestApplication } from "@nestjs/common";
 *
 * const handler = onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} });
 * // In main.ts, after NestFactory.create(AppModule) and before app.listen():
 * export const receiveWebhooks = (app: INestApplication) =>
 *   app.use("/webhooks/loyalty", nestReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", handler }));
 * ```
 */
export function nestReceiver(options: ReceiverOptions): (
  request: IncomingMessage | { raw: IncomingMessage }, // a controller on Fastify passes Fastify's wrapper
  response: ServerResponse | { raw: ServerResponse; hijack(): unknown },
) => Promise<void> {
  const { handle } = nodeHandler({ name: "nestReceiver", fix }, options);
  return (request, response) => {
    if ("hijack" in response) response.hijack(); // Fastify must not send a second response
    const nodeResponse = "raw" in response ? response.raw : response;
    const parsedBody = request as ParsedBody; // parsers store the body in the request of the framework
    return handle("raw" in request ? request.raw : request, nodeResponse, { parsedBody });
  };
}
