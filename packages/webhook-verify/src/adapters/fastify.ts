/** Receives deliveries in Fastify 5, without changing the parsers of other routes. */
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import type { FastifyInstance, FastifyReply, FastifyRequest, RegisterOptions } from "fastify";
import {
  failToRespond,
  type NodeRequest,
  type Readable,
  readNodeBody,
  selectHeaders,
  toHead,
} from "../node-request.ts";
import type { ReceiverOptions } from "../options.ts";
import { createAdapterReceiver } from "../receiver.ts";

/** The options of a receiver, and its route. */
export interface FastifyReceiverOptions extends ReceiverOptions {
  /** The route, e.g. `/webhooks`. */
  path: string;
}

const bodyAdvice =
  "A hook of the parent read the body; register fastifyReceiver outside that scope, or let the preParsing hook return a stream of the same bytes.";

/**
 * A plugin: `app.register(fastifyReceiver, { path: "/webhooks/loyalty", secret, handler })`. The
 * route has all methods: a request that is not a POST gets 405.
 * @throws {TypeError} as createReceiver does, and for a missing path.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
 * import fastify from "fastify";
 *
 * const secret = () => process.env.LOYALTY_SIGNING_SECRET;
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.balance),
 *   otherTypes: () => {},
 * });
 * const app = fastify();
 * app.register(fastifyReceiver, { path: "/webhooks/loyalty", secret, handler });
 * ```
 */
export function fastifyReceiver(
  app: FastifyInstance,
  options: FastifyReceiverOptions,
): Promise<void> {
  if (typeof app?.addContentTypeParser !== "function") throw new TypeError(wrongUse); // at once: no plugin is awaited here
  return register(app, options);
}

const wrongUse =
  'fastifyReceiver is a plugin, not a route handler: write app.register(fastifyReceiver, { path: "/webhooks/loyalty", secret, handler }). In Express, use expressReceiver.';

/** What `app.register` itself reads from the options of a plugin. */
const fastifyOptions = {
  path: true,
  prefix: true,
  logLevel: true,
  logSerializers: true,
} satisfies OptionNames<Omit<FastifyReceiverOptions, keyof ReceiverOptions> & RegisterOptions>;

async function register(app: FastifyInstance, options: FastifyReceiverOptions): Promise<void> {
  if (typeof options?.path !== "string")
    throw new TypeError('path is missing: { path: "/webhooks/loyalty", … }.');
  const traits = { name: "fastifyReceiver", bodyAdvice, ownOptions: fastifyOptions };
  const { receive, reporter } = createAdapterReceiver(traits, options);

  async function respond({ raw, body }: FastifyRequest, reply: FastifyReply): Promise<void> {
    // A preParsing hook may have replaced the stream of the body; the request itself is read then.
    const stream = isStream(body) && body !== raw ? body : undefined;
    stream?.on("error", () => {}); // without a listener, an error after the last read would end the process
    const request: NodeRequest = raw;
    const result = await receive(toHead(request), (limits) =>
      readNodeBody(request, limits, stream),
    );
    // `afterResponse` runs when the response has been sent, or the connection is closed.
    if (result.afterResponse !== undefined) reply.then(result.afterResponse, result.afterResponse);
    try {
      reply.code(result.status).headers(selectHeaders(request, result)).send();
    } catch (error) {
      failToRespond(error, reply.raw, reporter);
      reply.hijack();
    }
  }
  // Returns no promise: Fastify would wait for its result, and then for the end of the response.
  const handle = (request: FastifyRequest, reply: FastifyReply) => void respond(request, reply);

  // In a scope of its own, the bytes stay in the stream until the receiver reads them, and other
  // routes keep their parsers, also when this function is called instead of registered.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Fastify remembers which parser a content type has, but not that it is the one of "*".
    scope.addContentTypeParser(["application/json", "*"], (_request, payload, done) =>
      done(null, payload),
    );
    // Fastify rejects a malformed content type. The receiver does not: the signature decides.
    scope.setErrorHandler((error: { code?: string }, request, reply) => {
      if (error.code !== "FST_ERR_CTP_INVALID_MEDIA_TYPE") throw error;
      handle(request, reply);
    });
    scope.all(options.path, handle);
  });
}

/** The check is structural, because a hook may use another implementation of streams. */
const isStream = (value: unknown): value is Readable =>
  typeof (value as Readable | null | undefined)?.on === "function";
