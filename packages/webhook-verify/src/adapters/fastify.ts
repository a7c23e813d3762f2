/** Receives deliveries in Fastify 5, without changing the parsers of other routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ReceiverOptions } from "../options.ts";
import { createReceiverOf, type ReceiverResponse } from "../receiver.ts";
import {
  getHeaders,
  type NodeRequest,
  type Readable,
  type ServerResponse,
  sendAgain,
  toReceived,
} from "./node-request.ts";

/** The options of a receiver, and its route. */
export interface FastifyReceiverOptions extends ReceiverOptions {
  /** The route, e.g. `/webhooks`. */
  path: string;
}

const fix =
  "A hook of the parent read the body; register fastifyReceiver outside that scope, or let the preParsing hook return a stream of the same bytes.";

/**
 * A plugin: `app.register(fastifyReceiver, { path: "/webhooks/loyalty", secret, handler })`. It registers POST only, so that the
 * application can have other methods on the same path; methods that it does not have respond 405 (404 where the path has parameters).
 * @throws {TypeError} as createReceiver does, for a missing path, and with an older Fastify.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
 * import fastify from "fastify";
 *
 * const app = fastify();
 * const handler = onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} });
 * app.register(fastifyReceiver, { path: "/webhooks/loyalty", secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", handler });
 * ```
 */
export function fastifyReceiver(app: FastifyInstance, options: FastifyReceiverOptions): Promise<void> {
  if (typeof app?.addContentTypeParser !== "function") throw new TypeError(wrongUse); // at once: no plugin is awaited here
  if (!Array.isArray(app.supportedMethods))
    throw new TypeError("fastifyReceiver needs Fastify 5. This one is older.");
  return register(app, options);
}

const wrongUse =
  'fastifyReceiver is a plugin, not a route handler: write app.register(fastifyReceiver, { path: "/webhooks/loyalty", secret, handler }). In Express, use expressReceiver.';

/** What `app.register` itself reads from the options of a plugin. */
const optionsOfFastify = ["path", "prefix", "logLevel", "logSerializers"];

async function register(app: FastifyInstance, options: FastifyReceiverOptions): Promise<void> {
  if (typeof options?.path !== "string")
    throw new TypeError('path is missing: { path: "/webhooks/loyalty", … }.');
  const kind = { name: "fastifyReceiver", fix, ownOptions: optionsOfFastify };
  const { receive, reporter } = createReceiverOf(kind, options);

  async function handle(
    { raw, body }: FastifyRequest,
    reply: FastifyReply,
    ownHeaders?: Record<string, string>,
  ): Promise<FastifyReply> {
    const request = raw as NodeRequest;
    // A preParsing hook may have replaced the stream of the body; the request itself is read then.
    const stream = isStream(body) && body !== raw ? body : undefined;
    stream?.on("error", () => {}); // without a listener, an error after the last read would end the process
    const result = await receive(toReceived(request, stream));
    runAfter(reply.raw, result.afterResponse);
    try {
      return reply
        .code(result.status)
        .headers({ ...getHeaders(request, result), ...ownHeaders })
        .send();
    } catch (error) {
      reporter.logUnexpectedError(error, sendAgain(reply.raw, result));
      return reply.hijack();
    }
  }

  // In the scope of this plugin only: the bytes stay in the stream until the receiver reads them.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  // Fastify rejects a malformed content type. The receiver does not: the signature decides.
  app.setErrorHandler((error: { code?: string }, request, reply) => {
    if (error.code !== "FST_ERR_CTP_INVALID_MEDIA_TYPE") throw error;
    return handle(request, reply);
  });

  const urls = new Set<string>(); // with the prefixes of all scopes
  app.addHook("onRoute", ({ url }) => void urls.add(url).add(`${url}/`));
  app.post(options.path, (request, reply) => handle(request, reply));

  // The other methods of the application are known only when it has started, which is too late for a route. So requests without
  // a route are handled at the root, where Fastify responds to them.
  getRoot(app).addHook("onRequest", (request, reply, done) => {
    const url = request.url.split("?", 1)[0] as string;
    if (!request.is404 || !urls.has(url)) return done();
    const methods = app.supportedMethods.filter((method) => app.hasRoute({ method, url }));
    if (!methods.includes("POST")) return done();
    void handle(request, reply, { allow: methods.join(", ") });
  });
}

/** Runs the task when the framework has sent the response, or at once when the connection is closed already. */
function runAfter(response: ServerResponse, task: ReceiverResponse["afterResponse"]): void {
  if (task === undefined) return;
  if (response.closed || response.destroyed) void task();
  else response.once("close", task);
}

/** Structural, because a hook may use another implementation of streams. */
const isStream = (value: unknown): value is Readable =>
  typeof (value as Readable | null | undefined)?.on === "function";

/** The outermost scope: a scope inherits from the one it was registered in. */
function getRoot(app: FastifyInstance): FastifyInstance {
  const parent = Object.getPrototypeOf(app);
  return typeof parent?.addHook === "function" ? getRoot(parent) : app;
}
