/** Converts HTTP requests to the events of AWS, and the results of a function to responses. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";
import type { lambdaReceiver } from "../src/adapters/lambda.ts";
import { listening, type RunningServer } from "./adapter-contract.ts";

interface LambdaRequest {
  request: IncomingMessage;
  body: Buffer;
}

/** Encodes a body as text when its type is text and it is valid UTF-8, otherwise as base64. */
function encodeBody({ request, body }: LambdaRequest, textTypes: RegExp) {
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

const textType = /^(text\/|application\/json)/;
const noType = /^$(?!)/;

export const eventShapes = {
  "a REST API": (received: LambdaRequest) =>
    ({
      resource: "/webhooks",
      path: "/webhooks",
      httpMethod: received.request.method ?? "",
      headers: inTitleCase(lastLine(received.request)),
      multiValueHeaders: inTitleCase(everyLine(received.request)),
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      pathParameters: null,
      stageVariables: null,
      requestContext: { stage: "prod", httpMethod: received.request.method ?? "" } as never,
      ...encodeBody(received, textType),
    }) satisfies APIGatewayProxyEvent,
  "a REST API with binary media types": (received: LambdaRequest) => ({
    ...eventShapes["a REST API"](received),
    ...encodeBody(received, noType),
  }),
  "an HTTP API": (received: LambdaRequest) =>
    ({
      version: "2.0",
      routeKey: "ANY /webhooks",
      rawPath: "/webhooks",
      rawQueryString: "",
      headers: joinedLines(received.request),
      requestContext: { http: { method: received.request.method ?? "", path: "/webhooks" } } as never,
      ...encodeBody(received, textType),
    }) satisfies APIGatewayProxyEventV2,
  "a function URL": (received: LambdaRequest) =>
    ({
      version: "2.0",
      routeKey: "$default",
      rawPath: "/webhooks",
      rawQueryString: "",
      headers: joinedLines(received.request),
      requestContext: { http: { method: received.request.method ?? "", path: "/webhooks" } } as never,
      ...encodeBody(received, noType),
    }) satisfies APIGatewayProxyEventV2,
  "a load balancer": (received: LambdaRequest) =>
    ({
      httpMethod: received.request.method ?? "",
      path: "/webhooks",
      queryStringParameters: {},
      headers: joinedLines(received.request),
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:::targetgroup/shop/1" } },
      ...encodeBody(received, textType),
    }) satisfies ALBEvent,
  "a load balancer with multi-value headers": (received: LambdaRequest) =>
    ({
      httpMethod: received.request.method ?? "",
      path: "/webhooks",
      multiValueQueryStringParameters: {},
      multiValueHeaders: everyLine(received.request),
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:::targetgroup/shop/1" } },
      ...encodeBody(received, textType),
    }) satisfies ALBEvent,
};

export type EventShape = keyof typeof eventShapes;
export type LambdaHttpEvent = ReturnType<(typeof eventShapes)[EventShape]>;

type Handler = (event: LambdaHttpEvent) => ReturnType<ReturnType<typeof lambdaReceiver>>;

/** Listens, and calls the function once for each request. */
export function bridged(shape: EventShape, handler: Handler): Promise<RunningServer> {
  return listening(createServer(bridge(shape, handler)));
}

export function bridge(shape: EventShape, handler: Handler): RequestListener {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const event = eventShapes[shape]({ request, body: Buffer.concat(chunks) });
    const result = await handler(event);
    // A load balancer reads only the kind of headers that it is configured for.
    const wantsLists = "multiValueHeaders" in event;
    const headers = wantsLists ? result.multiValueHeaders : result.headers;
    response.writeHead(result.statusCode, headers ?? {}).end(result.body);
  }
  return (request, response) => void handle(request, response).catch(() => response.destroy());
}
