/** Receives deliveries in Next: as a route of the App Router, or as an API route of the Pages Router. */
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { type NodeRequest, type NodeResponse, nodeHandler } from "./node-request.ts";
import { receiveRequest, responseOf, runAfter } from "./web-request.ts";

/** A receiver's options, and Next's way to work after the answer. */
export interface NextRouteOptions extends ReceiverOptions {
  /** `after` of `next/server`: it keeps a serverless function alive for `process`. */
  after?: (task: () => Promise<void>) => void;
}

const routeFix = "Nothing may read the Request before nextRoute does.";
const pagesFix = "Add `export const config = { api: { bodyParser: false } }` to the API route's file.";

/**
 * `export const POST = nextRoute({ … })` in `app/…/route.ts`.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * // app/webhooks/route.ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nextRoute } from "@loyalty-cards/webhook-verify/next";
 *
 * export const POST = nextRoute({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   accept: onEvents({ "balance.changed": ({ data }) => console.log(data.balance), other: () => {} }),
 * });
 * ```
 */
export function nextRoute(options: NextRouteOptions): (request: Request) => Promise<Response> {
  const receive = handingReceiver(options);
  const { after } = options;
  return async (request) => {
    const answer = await receiveRequest(receive, request, routeFix);
    if (answer.afterAnswer !== undefined) schedule(answer.afterAnswer, after);
    return responseOf(answer);
  };
}

/** The event is taken over by now: when the platform refuses the task, it runs all the same. */
function schedule(task: () => Promise<void>, after: NextRouteOptions["after"]): void {
  try {
    if (after === undefined) void runAfter(task);
    else after(task);
  } catch {
    void runAfter(task);
  }
}

/**
 * `export default nextPagesHandler({ … })` in `pages/api/…`.
 * @throws {TypeError} as createReceiver does.
 * @example
 * ```ts
 * // pages/api/webhooks.ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { nextPagesHandler, type rawBodyConfig } from "@loyalty-cards/webhook-verify/next";
 *
 * export const config = { api: { bodyParser: false } } satisfies typeof rawBodyConfig;
 * export default nextPagesHandler({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   accept: onEvents({ "balance.changed": ({ data }) => console.log(data.balance), other: () => {} }),
 * });
 * ```
 */
export function nextPagesHandler(
  options: ReceiverOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const handle = nodeHandler(handingReceiver(options), options, pagesFix);
  return (request, response) => handle(request, response);
}

/**
 * What the API route's `config` must be. Next reads it from the source text and refuses to build with an imported value:
 * write `{ api: { bodyParser: false } } satisfies typeof rawBodyConfig`.
 */
export const rawBodyConfig = { api: { bodyParser: false } } as const;
