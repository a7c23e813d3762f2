/** Receives deliveries in runtimes whose handlers take a Request and return a Response: Hono, Bun, Deno, Workers, SvelteKit. */

import type { ReceiverOptions } from "../options.ts";
import { createReporter } from "../outcome.ts";
import { createReceiverOf } from "../receiver.ts";
import { receiveRequest, runAfter, toResponse } from "./web-request.ts";

const fix =
  "Pass the Request before anything reads its body, or give request.clone() to the code that reads it first.";

/**
 * Creates a handler. When an argument has `waitUntil`, the platform stays alive for `afterResponse`, so
 * `export default { fetch: fetchReceiver({ … }) }` works on Workers.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { Hono } from "hono";
 *
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   otherTypes: () => {},
 * });
 * const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", handler });
 * export default new Hono().post("/webhooks", (context) => receive(context.req.raw));
 * ```
 */
export function fetchReceiver(
  options: ReceiverOptions,
): (request: Request, ...platform: unknown[]) => Promise<Response> {
  const receive = createReceiverOf({ name: "fetchReceiver" }, options);
  const reporter = createReporter(options);
  return async (request, ...platform) => {
    const result = await receiveRequest(receive, request, fix);
    if (result.afterResponse !== undefined) {
      const done = runAfter(result.afterResponse);
      try {
        platform.find(isExecutionContext)?.waitUntil(done);
      } catch (error) {
        reporter.logUnexpectedError(error, "process runs without waitUntil.");
      }
    }
    return toResponse(result);
  };
}

/** Keeps the platform alive until a promise settles, like the execution context of Workers. */
interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

function isExecutionContext(value: unknown): value is ExecutionContext {
  return typeof (value as ExecutionContext | null | undefined)?.waitUntil === "function";
}
