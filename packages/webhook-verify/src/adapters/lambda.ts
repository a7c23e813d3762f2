/** Receives deliveries in AWS Lambda: behind API Gateway (REST or HTTP), a load balancer or a function URL. */
import { decodeBase64, type RawBody, RawBodyError } from "../body.ts";
import type { ReceiverOptions } from "../options.ts";
import { createReceiverOf } from "../receiver.ts";

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

const fix = "Remove the middleware that parses the body (such as httpJsonBodyParser) from this function.";

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
 *   handler: onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} }),
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
  // A function is frozen between deliveries too, possibly while a `secret` function waits for its secret.
  const { receive } = createReceiverOf({ name: "lambdaReceiver", fix, triesSecretAtStart: false }, options);
  return async (invocation) => {
    const event = invocation ?? {}; // a function can be called with anything
    const { status, headers } = await receive({
      method: event.httpMethod ?? event.requestContext?.http?.method ?? "",
      headers: event.multiValueHeaders ?? event.headers ?? {}, // multiValueHeaders, if present, keeps repeated lines
      rawBody: ({ maxBodyBytes }) => readBody(event, maxBodyBytes),
    });
    if (!event.multiValueHeaders) return { statusCode: status, headers, body: "" };
    const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
    return { statusCode: status, multiValueHeaders: Object.fromEntries(lists), body: "" };
  };
}

function readBody({ body, isBase64Encoded }: LambdaEvent, maxBodyBytes: number): RawBody {
  if (body === null || body === undefined) return "";
  if (typeof body !== "string") throw new RawBodyError("already-consumed");
  return isBase64Encoded ? decodeBase64(body, maxBodyBytes) : body;
}
