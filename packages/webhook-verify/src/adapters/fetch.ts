/** Receives deliveries wherever a handler is a function from Request to Response: Hono, Bun, Deno, Workers, SvelteKit. */
import { handingReceiver } from "../handing-receiver.ts";
import { reporter } from "../outcome.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { receiveRequest, responseOf, runAfter } from "./web-request.ts";

const fix =
  "Hand over the Request before anything reads its body, or pass request.clone() to whoever reads it first.";

/**
 * A handler for deliveries. An argument that has `waitUntil` keeps the platform alive for `process`, so that
 * `export default { fetch: fetchReceiver({ … }) }` is right on Workers.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { Hono } from "hono";
 *
 * const accept = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   other: () => {},
 * });
 * const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", accept });
 * export default new Hono().post("/webhooks", (context) => receive(context.req.raw));
 * ```
 */
export function fetchReceiver(
  options: ReceiverOptions,
): (request: Request, ...platform: unknown[]) => Promise<Response> {
  const receive = handingReceiver(options);
  const reporting = reporter(options);
  return async (request, ...platform) => {
    const answer = await receiveRequest(receive, request, fix);
    if (answer.afterAnswer !== undefined) {
      const done = runAfter(answer.afterAnswer);
      try {
        platform.find(isExecutionContext)?.waitUntil(done);
      } catch (error) {
        reporting.unexpectedError(error, "the work after the answer runs without waitUntil.");
      }
    }
    return responseOf(answer);
  };
}

/** Keeps the platform alive until a promise settles, as Workers' execution context does. */
interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

function isExecutionContext(value: unknown): value is ExecutionContext {
  return typeof (value as ExecutionContext | null | undefined)?.waitUntil === "function";
}
