/** Turns HTTP requests into the events that AWS makes of them, and a function's results into answers. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";
import type { LambdaResult } from "../src/adapters/lambda.ts";
import { listening, type RunningServer } from "./adapter-contract.ts";

interface Arrived {
  request: IncomingMessage;
  body: Buffer;
}

/** Base64 of bodies that are not known to be text; and always of what is not UTF-8, which no event could hold as text. */
function bodyOf({ request, body }: Arrived, textTypes: RegExp) {
  const isText = textTypes.test(request.headers["content-type"] ?? "");
  const isUtf8 = Buffer.from(body.toString("utf8")).equals(body);
  return isText && isUtf8
    ? { body: body.toString("utf8"), isBase64Encoded: false }
    : { body: body.toString("base64"), isBase64Encoded: true };
}

const everyLine = ({ headersDistinct }: IncomingMessage) =>
  ({ ...headersDistinct }) as Record<string, string[]>;
const lastLine = (request: IncomingMessage) =>
  Object.fromEntries(Object.entries(everyLine(request)).map(([name, lines]) => [name, lines.at(-1) ?? ""]));
const joinedLines = (request: IncomingMessage) =>
  Object.fromEntries(Object.entries(everyLine(request)).map(([name, lines]) => [name, lines.join(",")]));
/** REST APIs keep the case that the sender used. */
const inTitleCase = <Value>(headers: Record<string, Value>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace(/\b[a-z]/g, (c) => c.toUpperCase()), value]),
  );

const textual = /^(text\/|application\/json)/;
const nothing = /^$(?!)/;

export const eventShapes = {
  "a REST API": (arrived: Arrived) =>
    ({
      resource: "/webhooks",
      path: "/webhooks",
      httpMethod: arrived.request.method ?? "",
      headers: inTitleCase(lastLine(arrived.request)),
      multiValueHeaders: inTitleCase(everyLine(arrived.request)),
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      pathParameters: null,
      stageVariables: null,
      requestContext: { stage: "prod", httpMethod: arrived.request.method ?? "" } as never,
      ...bodyOf(arrived, textual),
    }) satisfies APIGatewayProxyEvent,
  "a REST API with binary media types": (arrived: Arrived) => ({
    ...eventShapes["a REST API"](arrived),
    ...bodyOf(arrived, nothing),
  }),
  "an HTTP API": (arrived: Arrived) =>
    ({
      version: "2.0",
      routeKey: "ANY /webhooks",
      rawPath: "/webhooks",
      rawQueryString: "",
      headers: joinedLines(arrived.request),
      requestContext: { http: { method: arrived.request.method ?? "", path: "/webhooks" } } as never,
      ...bodyOf(arrived, textual),
    }) satisfies APIGatewayProxyEventV2,
  "a function URL": (arrived: Arrived) =>
    ({
      version: "2.0",
      routeKey: "$default",
      rawPath: "/webhooks",
      rawQueryString: "",
      headers: joinedLines(arrived.request),
      requestContext: { http: { method: arrived.request.method ?? "", path: "/webhooks" } } as never,
      ...bodyOf(arrived, nothing),
    }) satisfies APIGatewayProxyEventV2,
  "a load balancer": (arrived: Arrived) =>
    ({
      httpMethod: arrived.request.method ?? "",
      path: "/webhooks",
      queryStringParameters: {},
      headers: joinedLines(arrived.request),
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:::targetgroup/shop/1" } },
      ...bodyOf(arrived, textual),
    }) satisfies ALBEvent,
  "a load balancer with multi-value headers": (arrived: Arrived) =>
    ({
      httpMethod: arrived.request.method ?? "",
      path: "/webhooks",
      multiValueQueryStringParameters: {},
      multiValueHeaders: everyLine(arrived.request),
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:::targetgroup/shop/1" } },
      ...bodyOf(arrived, textual),
    }) satisfies ALBEvent,
};

export type EventShape = keyof typeof eventShapes;
export type LambdaHttpEvent = ReturnType<(typeof eventShapes)[EventShape]>;

type Handler = (event: LambdaHttpEvent) => Promise<LambdaResult>;

/** Listens, and calls the function once for each request. */
export function bridged(shape: EventShape, handler: Handler): Promise<RunningServer> {
  return listening(createServer(bridge(shape, handler)));
}

export function bridge(shape: EventShape, handler: Handler): RequestListener {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const event = eventShapes[shape]({ request, body: Buffer.concat(chunks) });
    const result = await handler(event);
    // A load balancer heeds only the kind of headers that it was configured for.
    const wantsLists = "multiValueHeaders" in event;
    const headers = wantsLists ? result.multiValueHeaders : result.headers;
    response.writeHead(result.statusCode, headers ?? {}).end(result.body);
  }
  return (request, response) => void answer(request, response).catch(() => response.destroy());
}
