/**
 * Receives deliveries in runtimes whose handlers take a Request and return a Response: Hono, Bun,
 * Deno, Workers, SvelteKit.
 */
import type { ReceiverOptions } from "../options.ts";
import { webHandler } from "../web-request.ts";

const bodyAdvice =
  "Pass the Request before anything reads its body, or give request.clone() to the code that reads it first.";

/**
 * Creates a handler. When an argument has `waitUntil`, the platform stays alive for
 * `afterResponse`, so `export default { fetch: fetchReceiver({ … }) }` works on Workers.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { Hono } from "hono";
 *
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.balance),
 *   otherTypes: () => {},
 * });
 * const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET, handler });
 * export default new Hono().post("/webhooks/loyalty", (context) => receive(context.req.raw));
 * ```
 */
export function fetchReceiver(
  options: ReceiverOptions,
): (request: Request, ...platform: unknown[]) => Promise<Response> {
  return webHandler({ name: "fetchReceiver", bodyAdvice }, options, (done, platform) =>
    platform.find(isExecutionContext)?.waitUntil(done),
  );
}

/** Keeps the platform alive until a promise settles, like the execution context of Workers. */
const isExecutionContext = (
  value: unknown,
): value is { waitUntil(promise: Promise<unknown>): void } =>
  typeof (value as { waitUntil?: unknown } | null | undefined)?.waitUntil === "function";
