/** Receives deliveries in AWS Lambda: behind API Gateway (REST or HTTP), a load balancer or a function URL. */
import { handingReceiver } from "../handing-receiver.ts";
import { fromBase64, type RawBody, RawBodyError } from "../raw-body.ts";
import type { ReceiverOptions } from "../receiver.ts";

/** As much of the four kinds of event as a delivery needs. */
export interface LambdaEvent {
  httpMethod?: string;
  requestContext?: { http?: { method?: string }; httpMethod?: string; elb?: unknown };
  headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  multiValueHeaders?: Readonly<Record<string, string[] | undefined>> | null | undefined;
  body?: string | null | undefined;
  isBase64Encoded?: boolean;
}

/** The answer, in the form that all four kinds of event take. */
export interface LambdaResult {
  statusCode: number;
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  body: string;
}

const fix = "Take the middleware that parses the body (httpJsonBodyParser, say) off this function.";

/**
 * `export const handler = lambdaReceiver({ … })`.
 * @throws {TypeError} as createReceiver does, and for `process`.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
 *
 * export const handler = lambdaReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   accept: onEvents({ "balance.changed": ({ data }) => console.log(data.balance), other: () => {} }),
 * });
 * ```
 */
export function lambdaReceiver(
  options: Omit<ReceiverOptions, "process">, // a function freezes once it has answered
): (event: LambdaEvent) => Promise<LambdaResult> {
  const receive = handingReceiver(options);
  if ("process" in options) {
    throw new TypeError("A function freezes once it has answered: give accept or inbox instead of process.");
  }
  return async (invocation) => {
    const event = invocation ?? {}; // a function may be called with anything
    const { status, headers } = await receive({
      method: event.httpMethod ?? event.requestContext?.http?.method ?? "",
      headers: event.multiValueHeaders ?? event.headers ?? {}, // the first, where there is one: it keeps repeated lines
      rawBody: async ({ maxBodyBytes }) => bodyOf(event, maxBodyBytes),
    });
    if (!event.multiValueHeaders) return { statusCode: status, headers, body: "" };
    const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
    return { statusCode: status, multiValueHeaders: Object.fromEntries(lists), body: "" };
  };
}

function bodyOf({ body, isBase64Encoded }: LambdaEvent, maxBodyBytes: number): RawBody {
  if (body === null || body === undefined) return "";
  if (typeof body !== "string") throw new RawBodyError("already-consumed", { fix });
  return isBase64Encoded ? fromBase64(body, maxBodyBytes) : body;
}
