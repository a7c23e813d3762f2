/** Receives deliveries wherever a handler is a function from Request to Response: Hono, Bun, Deno, Workers, SvelteKit. */
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { type ExecutionContext, receiveRequest, responseOf, runAfter } from "./web-request.ts";

const fix =
  "Hand over the Request before anything reads its body, or pass request.clone() to whoever reads it first.";

/**
 * A handler for deliveries. An argument that has `waitUntil` keeps the platform alive for `process`, so that
 * `export default { fetch: fetchReceiver({ … }) }` is right on Workers.
 * @throws {TypeError} as createReceiver does.
 */
export function fetchReceiver(
  options: ReceiverOptions,
): (request: Request, ...platform: unknown[]) => Promise<Response> {
  const receive = handingReceiver(options);
  return async (request, ...platform) => {
    const answer = await receiveRequest(receive, request, fix);
    if (answer.afterAnswer !== undefined) runAfter(answer.afterAnswer, platform.find(isExecutionContext));
    return responseOf(answer);
  };
}

function isExecutionContext(value: unknown): value is ExecutionContext {
  return typeof (value as ExecutionContext | null | undefined)?.waitUntil === "function";
}
