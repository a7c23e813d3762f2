/** Receives deliveries in a plain node:http server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { nodeHandler } from "../node-request.ts";
import type { ReceiverOptions } from "../options.ts";

/**
 * Creates a handler for one route of a node:http server.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
 *
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.balance),
 *   otherTypes: () => {},
 * });
 * const receive = nodeReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET, handler });
 * createServer((request, response) => {
 *   if (request.url === "/webhooks/loyalty") return void receive(request, response);
 *   response.writeHead(404).end();
 * }).listen(3000);
 * ```
 */
export function nodeReceiver(
  options: ReceiverOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const bodyAdvice = "Pass the request to the receiver before anything reads its body.";
  const { handle } = nodeHandler({ name: "nodeReceiver", bodyAdvice }, options);
  return (request, response) => handle(request, response);
}
