/** Receives deliveries in a plain node:http server. */
import type { ServerResponse } from "node:http";
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { type NodeRequest, receiveFrom, respond } from "./node-request.ts";

const fix = "Hand the request over before anything reads its body.";

/** Handles one route of a node:http server. @throws {TypeError} as createReceiver does. */
export function nodeReceiver(
  options: ReceiverOptions,
): (request: NodeRequest, response: ServerResponse) => Promise<void> {
  const receive = handingReceiver(options);
  return async (request, response) => respond(response, await receiveFrom(receive, request, fix));
}
