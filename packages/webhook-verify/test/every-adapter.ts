/** Every adapter in its framework, as a request listener that a test can put into any server. */
import { createServer, type RequestListener } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { getRequestListener } from "@hono/node-server";
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
import { type Adapter, listening, type RunningServer } from "./adapter-contract.ts";
import { bridge } from "./lambda-bridge.ts";

export type HttpVersion = "HTTP/1.1" | "HTTP/2";

export interface EveryAdapter {
  name: string;
  /** The framework with the receiver at `/webhooks`. */
  listener(options: ReceiverOptions): Promise<RequestListener>;
  versions: readonly HttpVersion[];
  /** The receiver does not get Node's request and response. */
  isBridged?: true;
  /** The options of `describeAdapter`, or the test file that runs it with more than the listener. */
  suite: Omit<Adapter, "start"> | `${string}.test.ts`;
}

const both = ["HTTP/1.1", "HTTP/2"] as const;

async function routing(app: FastifyInstance): Promise<RequestListener> {
  await app.ready();
  return (request, response) => app.routing(request, response);
}

export const everyAdapter: readonly EveryAdapter[] = [
  { name: "node:http", suite: {}, versions: both, listener: async (options) => nodeReceiver(options) },
  {
    name: "Express",
    suite: "express.test.ts",
    versions: ["HTTP/1.1"], // Express replaces the prototype of the request with that of HTTP/1.1
    listener: async (options) => express().all("/webhooks", expressReceiver(options)),
  },
  {
    name: "Fastify",
    suite: "fastify.test.ts",
    versions: both,
    listener: async (options) => {
      const app = fastify();
      await app.register(fastifyReceiver, { path: "/webhooks", ...options });
      return routing(app);
    },
  },
  {
    name: "Next Pages Router",
    suite: "next.test.ts",
    versions: both,
    listener: async (options) => nextPagesHandler(options),
  },
  {
    name: "Next App Router",
    suite: "next.test.ts",
    versions: both,
    isBridged: true,
    listener: async (options) => getRequestListener(nextRoute(options)) as RequestListener,
  },
  {
    name: "fetch in Hono",
    suite: "fetch.test.ts",
    versions: both,
    isBridged: true,
    listener: async (options) => {
      const receive = fetchReceiver(options);
      const app = new Hono().all("/webhooks", (context) => receive(context.req.raw));
      return getRequestListener(app.fetch) as RequestListener;
    },
  },
  ...(["an HTTP API", "a REST API", "a load balancer with multi-value headers"] as const).map(
    (shape): EveryAdapter => ({
      name: `Lambda behind ${shape}`,
      suite: "lambda.test.ts",
      versions: ["HTTP/1.1"],
      isBridged: true,
      listener: async (options) => bridge(shape, lambdaReceiver(options)),
    }),
  ),
];

/** The maximum of open uploads in a session: low, so that a test notices one that is left open. */
export const maxOpenStreams = 5;

/** Listens with a version of HTTP; HTTP/2 without TLS. */
export function serving(listener: RequestListener, version: HttpVersion): Promise<RunningServer> {
  if (version === "HTTP/1.1") return listening(createServer(listener));
  const settings = { maxConcurrentStreams: maxOpenStreams };
  return listening(
    createHttp2Server(
      { settings },
      listener as never as (request: Http2ServerRequest, response: Http2ServerResponse) => void,
    ),
  );
}
