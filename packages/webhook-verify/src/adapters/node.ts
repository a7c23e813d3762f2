/** Receives deliveries in a plain node:http server. */
import type { ServerResponse } from "node:http";
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { type NodeRequest, nodeHandler } from "./node-request.ts";

const fix = "Hand the request over before anything reads its body.";

/**
 * Handles one route of a node:http server.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
 *
 * const accept = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   other: () => {},
 * });
 * const receive = nodeReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", accept });
 * createServer((request, response) => {
 *   if (request.url === "/webhooks") return void receive(request, response);
 *   response.writeHead(404).end();
 * }).listen(3000);
 * ```
 */
export function nodeReceiver(
  options: ReceiverOptions,
): (request: NodeRequest, response: ServerResponse) => Promise<void> {
  const handle = nodeHandler(handingReceiver(options), options, fix);
  return (request, response) => handle(request, response);
}
