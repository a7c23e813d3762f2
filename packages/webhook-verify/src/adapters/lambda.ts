/**
 * Receives deliveries in AWS Lambda: behind API Gateway (REST or HTTP), a load balancer or a
 * function URL.
 */
import { type BodyResult, decodeBase64, type ReadLimits, toBytes } from "../body.ts";
import type { ReceiverOptions } from "../options.ts";
import { createAdapterReceiver } from "../receiver.ts";

/** The parts of the four kinds of event that a receiver needs. */
type LambdaEvent = {
  httpMethod?: string;
  requestContext?: { http?: { method?: string }; httpMethod?: string; elb?: unknown };
  headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  multiValueHeaders?: Readonly<Record<string, string[] | undefined>> | null | undefined;
  body?: string | null | undefined;
  isBase64Encoded?: boolean;
};

/** The response, in a form that fits all four kinds of event. */
type LambdaResult = {
  statusCode: number;
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  body: string;
};

const bodyAdvice =
  "Remove the middleware that parses the body (such as httpJsonBodyParser) from this function.";

const wrongUse =
  "lambdaReceiver takes an event of Lambda, not a request. In Express use expressReceiver, in Fastify fastifyReceiver; for a Request use fetchReceiver.";

/**
 * Creates a handler: `export const handler = lambdaReceiver({ … })`.
 * @throws {TypeError} as createReceiver does, and for `afterResponse`.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
 *
 * export const handler = lambdaReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET,
 *   handler: onEvents({
 *     "balance.changed": ({ data }) => console.log(data.balance),
 *     otherTypes: () => {},
 *   }),
 * });
 * ```
 */
export function lambdaReceiver(
  options: Omit<ReceiverOptions, "afterResponse">, // a function is frozen after its response
): (event: LambdaEvent) => Promise<LambdaResult> {
  if (typeof options === "object" && options !== null && "afterResponse" in options) {
    throw new TypeError(
      "A function is frozen after its response: use handler or inbox instead of afterResponse.",
    );
  }
  // A function is frozen between deliveries too, possibly while a `secret` function waits for its
  // secret.
  const { receive, reporter } = createAdapterReceiver(
    { name: "lambdaReceiver", bodyAdvice, triesSecretAtStart: false },
    options,
  );
  return async (invocation) => {
    if (typeof (invocation as { url?: unknown } | undefined)?.url === "string") {
      reporter.write(wrongUse, { limitBy: "wrong-use" });
      throw new TypeError(wrongUse);
    }
    const event = invocation ?? {}; // a function can be called with anything
    // multiValueHeaders, if present, keeps repeated lines.
    const hasLists = Object.keys(event.multiValueHeaders ?? {}).length > 0;
    const head = {
      method: event.httpMethod ?? event.requestContext?.http?.method ?? "",
      headers: (hasLists ? event.multiValueHeaders : event.headers) ?? {},
    };
    const { status, headers } = await receive(head, (limits) => readLambdaBody(event, limits));
    if (!hasLists) return { statusCode: status, headers, body: "" };
    const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
    return { statusCode: status, multiValueHeaders: Object.fromEntries(lists), body: "" };
  };
}

function readLambdaBody({ body, isBase64Encoded }: LambdaEvent, limits: ReadLimits): BodyResult {
  if (body === null || body === undefined) return { value: new Uint8Array() };
  if (typeof body !== "string") return { failure: { reason: "already-consumed" } };
  return isBase64Encoded ? decodeBase64(body, limits.maxBodyBytes) : { value: toBytes(body) };
}
