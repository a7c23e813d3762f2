/**
 * Every adapter in its framework, as a request listener that a test can put into any server; HTTP/2
 * clients; events of Lambda.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type OutgoingHttpHeaders,
} from "node:http2";
import { getRequestListener } from "@hono/node-server";
import { type RunningServer, startServer } from "@loyalty-cards/testing/http";
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";
import express from "express";
import fastify, { type FastifyInstance } from "fastify";
import { Hono } from "hono";
import { expressReceiver } from "../src/adapters/express.ts";
import { fastifyReceiver } from "../src/adapters/fastify.ts";
import { fetchReceiver } from "../src/adapters/fetch.ts";
import { lambdaReceiver } from "../src/adapters/lambda.ts";
import { nextPagesHandler, nextRoute } from "../src/adapters/next.ts";
import { nodeReceiver } from "../src/adapters/node.ts";
import type { ReceiverOptions } from "../src/index.ts";
import type { Adapter } from "./adapter-contract.ts";

export type HttpVersion = "HTTP/1.1" | "HTTP/2";

export interface EveryAdapter extends Omit<Adapter, "start" | "startWithBodyParsed"> {
  name: string;
  /** The framework with the receiver at `/webhooks`. */
  listener(options: ReceiverOptions): Promise<RequestListener>;
  /** The same after code that reads the body; absent where that is impossible. */
  parsing?(options: ReceiverOptions): Promise<RequestListener>;
  versions: readonly HttpVersion[];
  /** The receiver does not get Node's request and response. */
  isBridged?: true;
}

const both = ["HTTP/1.1", "HTTP/2"] as const;

async function createFastify(
  options: ReceiverOptions,
  prepare: (app: FastifyInstance) => void = () => {},
) {
  const app = fastify();
  prepare(app);
  await app.register(fastifyReceiver, { path: "/webhooks", ...options });
  await app.ready();
  return ((request, response) => app.routing(request, response)) satisfies RequestListener;
}

const toListener = (fetch: (request: Request) => Response | Promise<Response>) =>
  getRequestListener(fetch) as RequestListener;

export const everyAdapter: readonly EveryAdapter[] = [
  { name: "node:http", versions: both, listener: async (options) => nodeReceiver(options) },
  {
    name: "Express",
    forwardsEvents: true,
    versions: ["HTTP/1.1"], // Express replaces the prototype of the request with that of HTTP/1.1
    listener: async (options) => express().all("/webhooks", expressReceiver(options)),
    parsing: async (options) =>
      express().use(express.json()).post("/webhooks", expressReceiver(options)),
    fix: /above app\.use\(express\.json\(\)\)/,
  },
  {
    name: "Fastify",
    versions: both,
    listener: (options) => createFastify(options),
    parsing: (options) =>
      createFastify(options, (app) =>
        app.addHook("preParsing", async (_request, _reply, payload) => {
          for await (const _chunk of payload);
          return payload;
        }),
      ),
    fix: /register fastifyReceiver outside that scope/,
  },
  {
    name: "Next Pages Router",
    versions: both,
    listener: async (options) => nextPagesHandler(options),
    async parsing(options) {
      const handler = nextPagesHandler(options);
      return express().use(express.json(), (request, response) => void handler(request, response));
    },
    fix: /bodyParser: false/,
  },
  {
    name: "Next App Router",
    versions: both,
    isBridged: true,
    listener: async (options) => toListener(nextRoute(options)),
    async parsing(options) {
      const route = nextRoute(options);
      return toListener(async (request) => {
        await request.json();
        return route(request);
      });
    },
    fix: /before nextRoute/,
  },
  {
    name: "fetch in Hono",
    versions: both,
    isBridged: true,
    async listener(options) {
      const receive = fetchReceiver(options);
      return toListener(new Hono().all("/webhooks", (context) => receive(context.req.raw)).fetch);
    },
    async parsing(options) {
      const receive = fetchReceiver(options);
      const app = new Hono().use(async (context, next) => {
        await context.req.json();
        await next();
      });
      return toListener(app.post("/webhooks", (context) => receive(context.req.raw)).fetch);
    },
    fix: /before anything reads its body/,
  },
  ...(
    [
      "a REST API",
      "a REST API with binary media types",
      "an HTTP API",
      "a function URL",
      "a load balancer",
      "a load balancer with multi-value headers",
    ] as const
  ).map(
    (shape): EveryAdapter => ({
      name: `Lambda behind ${shape}`,
      versions: ["HTTP/1.1"],
      isBridged: true,
      readsBody: false,
      isFrozenAfterResponse: true,
      listener: async (options) => bridge(shape, lambdaReceiver(options)),
      async parsing(options) {
        const receive = lambdaReceiver(options);
        return bridge(shape, (event) =>
          receive({ ...event, body: { parsed: event.body } as never }),
        );
      },
      fix: /httpJsonBodyParser/,
    }),
  ),
];

export const everyVersion = everyAdapter.flatMap((adapter) =>
  adapter.versions.map((version): [string, HttpVersion, EveryAdapter] => [
    adapter.name,
    version,
    adapter,
  ]),
);

/** The maximum of open uploads in a session: low, so that a test notices one that is left open. */
export const maxOpenStreams = 5;

/** Listens with a version of HTTP; HTTP/2 without TLS. */
export function serving(listener: RequestListener, version: HttpVersion): Promise<RunningServer> {
  if (version === "HTTP/1.1") return startServer(createServer(listener));
  const settings = { maxConcurrentStreams: maxOpenStreams };
  return startServer(
    createHttp2Server(
      { settings },
      listener as never as (request: Http2ServerRequest, response: Http2ServerResponse) => void,
    ),
  );
}

export interface Http2Response {
  status: number;
  headers: Record<string, unknown>;
}

/**
 * Sends one request over this session. A number as the body sends that many bytes, and does not end
 * the stream.
 */
export function requestOver(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: string | number,
): Promise<Http2Response & { closed: Promise<unknown> }> {
  return new Promise((resolve, reject) => {
    const request = session.request({ ":method": "POST", ":path": "/webhooks", ...headers });
    const closed = new Promise((settle) => request.on("close", settle));
    request.on("error", reject);
    request.on("close", () => reject(new Error("The stream was closed without a response.")));
    request.on("response", (response) => {
      resolve({ status: Number(response[":status"]), headers: response, closed });
      request.resume();
    });
    if (typeof body === "string") {
      request.end(body);
      return;
    }
    const chunk = Buffer.alloc(16_384, " ");
    let left = body;
    const write = () => {
      while (left > 0 && !request.destroyed) {
        left -= chunk.length;
        if (!request.write(chunk)) return void request.once("drain", write);
      }
    };
    write();
  });
}

/** Sends one delivery over a new session, and returns the status. */
export async function overHttp2(
  address: string,
  body: string,
  headers: Record<string, string | string[]>,
): Promise<number> {
  const session = connect(address);
  try {
    return (await requestOver(session, headers, body)).status;
  } finally {
    session.close();
  }
}

// Lambda: converts HTTP requests to the events of AWS, and the results of a function to responses.

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

const mapHeaders = <Value>(
  { headersDistinct }: IncomingMessage,
  toValue: (lines: string[]) => Value,
) =>
  Object.fromEntries(
    Object.entries(headersDistinct).map(([name, lines = []]) => [name, toValue(lines)]),
  );
const everyLine = (request: IncomingMessage) => mapHeaders(request, (lines) => lines);
const lastLine = (request: IncomingMessage) => mapHeaders(request, (lines) => lines.at(-1) ?? "");
const joinedLines = (request: IncomingMessage) => mapHeaders(request, (lines) => lines.join(","));
/** REST APIs keep the case that the sender used. */
const inTitleCase = <Value>(headers: Record<string, Value>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.replace(/\b[a-z]/g, (c) => c.toUpperCase()),
      value,
    ]),
  );

const textType = /^(text\/|application\/json)/;
const noType = /^$(?!)/;

const eventShapes = {
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
      requestContext: {
        http: { method: received.request.method ?? "", path: "/webhooks" },
      } as never,
      ...encodeBody(received, textType),
    }) satisfies APIGatewayProxyEventV2,
  "a function URL": (received: LambdaRequest) => ({
    ...eventShapes["an HTTP API"](received),
    ...encodeBody(received, noType),
  }),
  "a load balancer": (received: LambdaRequest) =>
    ({
      httpMethod: received.request.method ?? "",
      path: "/webhooks",
      queryStringParameters: {},
      headers: joinedLines(received.request),
      requestContext: {
        elb: { targetGroupArn: "arn:aws:elasticloadbalancing:::targetgroup/shop/1" },
      },
      ...encodeBody(received, textType),
    }) satisfies ALBEvent,
  "a load balancer with multi-value headers": (received: LambdaRequest) =>
    ({
      httpMethod: received.request.method ?? "",
      path: "/webhooks",
      multiValueQueryStringParameters: {},
      multiValueHeaders: everyLine(received.request),
      requestContext: {
        elb: { targetGroupArn: "arn:aws:elasticloadbalancing:::targetgroup/shop/1" },
      },
      ...encodeBody(received, textType),
    }) satisfies ALBEvent,
};

type EventShape = keyof typeof eventShapes;
type LambdaHttpEvent = ReturnType<(typeof eventShapes)[EventShape]>;

type Handler = (event: LambdaHttpEvent) => ReturnType<ReturnType<typeof lambdaReceiver>>;

function bridge(shape: EventShape, handler: Handler): RequestListener {
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
