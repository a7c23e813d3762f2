/**
 * Receives deliveries in Next.js: as a route of the App Router, or as an API route of the Pages
 * Router.
 */

import type { OptionNames } from "@loyalty-cards/internal/known-options";
import { type IncomingMessage, nodeHandler, type ServerResponse } from "../node-request.ts";
import type { ReceiverOptions } from "../options.ts";
import { webHandler } from "../web-request.ts";

/** The options of a receiver, and Next's `after`. */
export interface NextRouteOptions extends ReceiverOptions {
  /** `after` of `next/server`: it keeps a serverless function alive for `afterResponse`. */
  after?: (task: () => Promise<void>) => void;
}

const routeOptionNames = {
  after: true,
} satisfies OptionNames<Omit<NextRouteOptions, keyof ReceiverOptions>>;

const routeAdvice = "Nothing may read the Request before nextRoute does.";
const pagesAdvice =
  "Add `export const config = { api: { bodyParser: false } }` to the API route's file.";

/** `next build` loads every route, on a machine that may have no secret. */
const createTraits = (name: string, bodyAdvice: string) => ({
  name,
  bodyAdvice,
  triesSecretAtStart:
    typeof process === "undefined" || process.env?.["NEXT_PHASE"] !== "phase-production-build",
});

/**
 * Creates a route handler: `export const POST = nextRoute({ … })` in `app/…/route.ts`.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * // app/webhooks/route.ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nextRoute } from "@loyalty-cards/webhook-verify/next";
 *
 * export const POST = nextRoute({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET,
 *   handler: onEvents({
 *     "balance.changed": ({ data }) => console.log(data.balance),
 *     otherTypes: () => {},
 *   }),
 * });
 * ```
 */
export function nextRoute(options: NextRouteOptions): (request: Request) => Promise<Response> {
  const traits = { ...createTraits("nextRoute", routeAdvice), ownOptions: routeOptionNames };
  const receive = webHandler(traits, options, (done) => options.after?.(() => done));
  if (!["function", "undefined"].includes(typeof options.after))
    throw new TypeError('after must be the function that "next/server" exports.');
  return receive;
}

/**
 * Creates an API route: `export default nextPagesHandler({ … })` in `pages/api/…`. A server that
 * shuts down does not wait for `afterResponse`.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * // pages/api/webhooks.ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nextPagesHandler, type rawBodyConfig } from "@loyalty-cards/webhook-verify/next";
 *
 * export const config = { api: { bodyParser: false } } satisfies typeof rawBodyConfig;
 * export default nextPagesHandler({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET,
 *   handler: onEvents({
 *     "balance.changed": ({ data }) => console.log(data.balance),
 *     otherTypes: () => {},
 *   }),
 * });
 * ```
 */
export function nextPagesHandler(
  options: ReceiverOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { handle } = nodeHandler(createTraits("nextPagesHandler", pagesAdvice), options);
  return (request, response) => handle(request, response);
}

/**
 * The `config` that an API route must export. Next reads it from the source text and does not
 * accept an imported value: write `{ api: { bodyParser: false } } satisfies typeof rawBodyConfig`.
 */
export const rawBodyConfig = { api: { bodyParser: false } } as const;
