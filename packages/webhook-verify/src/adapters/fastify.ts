/** Receives deliveries in Fastify 5, without changing the parsers of other routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ReceiverOptions } from "../options.ts";
import { createReceiverOf } from "../receiver.ts";
import {
  afterClose,
  type BodyStream,
  headersFor,
  isUnread,
  type NodeRequest,
  receiveFrom,
  respond,
  respondAfterError,
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
 * application can have other methods on the same path; methods that it does not have respond 405.
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

  // Not async: Fastify would wait for a second promise.
  function handle({ raw, body: payload }: FastifyRequest, reply: FastifyReply, allow?: string): void {
    const request = raw as NodeRequest;
    // A preParsing hook may have replaced the stream of the body; the request itself is read then.
    const stream = isStream(payload) && payload !== raw ? payload : undefined;
    stream?.on("error", () => {}); // without a listener, an error after the last read would end the process
    receiveFrom(receive, request, { stream }).then((result) => {
      const { raw: response } = reply;
      const headers = allow === undefined ? result.headers : { ...result.headers, allow };
      afterClose(response, result.afterResponse);
      try {
        if (isUnread(request)) {
          // Fastify ends a response in a separate frame, which is too late for a stream that is closed early.
          reply.hijack();
          const ownHeaders = reply.getHeaders() as Record<string, string>;
          respond(request, response, { ...result, headers: { ...ownHeaders, ...headers } });
          return;
        }
        reply.code(result.status).headers(headersFor(request, headers)).send();
      } catch (error) {
        reply.hijack();
        reporter.logUnexpectedError(error, respondAfterError(response, result));
      }
    });
  }

  // In the scope of this plugin only: the bytes stay in the stream until the receiver reads them.
  app.removeAllContentTypeParsers();
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    // The receiver accepts any content type, even a malformed one. `delete` would slow down every later lookup.
    raw.headers["content-type"] = undefined;
    done();
  });
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  const paths: string[] = []; // with the prefixes of all scopes; "/" in a scope with a prefix is two routes
  app.addHook("onRoute", ({ url }) => void paths.push(url, `${url}/`));
  app.post(options.path, (request, reply) => handle(request, reply));

  // The other methods of the application are known only when it has started, which is too late for a route. So requests without
  // a route are handled at the root, where Fastify responds to them.
  getRoot(app).addHook("onRequest", (request, reply, done) => {
    const path = request.is404 ? paths.find((candidate) => matches(candidate, request.url)) : undefined;
    if (path === undefined || request.method === "POST") return done();
    const methods = app.supportedMethods.filter((method) => app.hasRoute({ method, url: path }));
    if (methods.includes("POST")) handle(request, reply, methods.join(", "));
    else done();
  });
}

/** Structural, because a hook may use another implementation of streams. */
const isStream = (value: unknown): value is BodyStream =>
  typeof (value as BodyStream | null | undefined)?.on === "function";

/** The outermost scope: a scope inherits from the one it was registered in. */
function getRoot(app: FastifyInstance): FastifyInstance {
  const parent = Object.getPrototypeOf(app);
  return typeof parent?.addHook === "function" ? getRoot(parent) : app;
}

/** Whether a path of Fastify's router, which may have parameters, matches the target of a request. */
function matches(path: string, target: string): boolean {
  const literal = path.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  const pattern = literal.replace(/:[^/-]+/g, "[^/]+").replace(/\*/g, ".*");
  return new RegExp(`^${pattern}$`).test(target.replace(/[?;#].*$/s, ""));
}
