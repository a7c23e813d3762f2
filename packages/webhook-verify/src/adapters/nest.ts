/** Receives deliveries in NestJS, on Express and on Fastify. */
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { type KeptBody, type NodeRequest, type NodeResponse, receiveFrom, respond } from "./node-request.ts";

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
 */
export function nestReceiver(
  options: ReceiverOptions,
): (request: NestRequest, response: NestResponse) => Promise<void> {
  const receive = handingReceiver(options);
  return async (request, response) => {
    const answer = await receiveFrom(receive, "raw" in request ? request.raw : request, fix, request);
    if ("hijack" in response) response.hijack(); // the answer is ours: Fastify must not make a second one
    await respond("raw" in response ? response.raw : response, answer);
  };
}
