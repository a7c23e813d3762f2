/** Receives deliveries in Fastify 5, leaving the parsers of all other routes alone. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { handingReceiver } from "../handing-receiver.ts";
import { reporter } from "../outcome.ts";
import type { ReceiverOptions } from "../receiver.ts";
import {
  afterClose,
  headersFor,
  isUnread,
  type NodeRequest,
  receiveFrom,
  respond,
  respondAnyway,
} from "./node-request.ts";

/** A receiver's options, and its route. */
export interface FastifyReceiverOptions extends ReceiverOptions {
  /** The route, e.g. `/webhooks`. */
  path: string;
}

const fix = "A hook of the parent read the body; register fastifyReceiver outside its scope.";

/**
 * A plugin: `app.register(fastifyReceiver, { path: "/webhooks", secret, accept })`. It registers POST only, so that the
 * application may have other methods on the same path; what it does not have responds 405.
 * @example
 * ```ts
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
 * import fastify from "fastify";
 *
 * const app = fastify();
 * const accept = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.passId, data.balance),
 *   other: () => {},
 * });
 * app.register(fastifyReceiver, { path: "/webhooks", secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", accept });
 * ```
 */
export async function fastifyReceiver(app: FastifyInstance, options: FastifyReceiverOptions): Promise<void> {
  if (typeof options.path !== "string") throw new TypeError('path is missing: { path: "/webhooks", … }.');
  const receive = handingReceiver(options);
  const reporting = reporter(options);

  // Not awaited, which would have Fastify wait for a second promise.
  function handle({ raw }: FastifyRequest, reply: FastifyReply, allow?: string): void {
    const request = raw as NodeRequest;
    receiveFrom(receive, request, fix).then((answer) => {
      const { raw: response } = reply;
      const headers = allow === undefined ? answer.headers : { ...answer.headers, allow };
      afterClose(response, answer.afterAnswer);
      try {
        if (isUnread(request)) {
          // Fastify ends a response in a frame of its own, which comes too late for a stream that is cut off.
          reply.hijack();
          const ownHeaders = reply.getHeaders() as Record<string, string>;
          respond(request, response, { ...answer, headers: { ...ownHeaders, ...headers } });
          return;
        }
        reply.code(answer.status).headers(headersFor(request, headers)).send();
      } catch (error) {
        reply.hijack();
        reporting.unexpectedError(error, respondAnyway(response, answer));
      }
    });
  }

  // Inside this plugin's own scope: the bytes stay in the stream until the receiver wants them.
  app.removeAllContentTypeParsers();
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    // The bytes are verified whatever it says, also when it is malformed. Not deleted: that would slow every look-up.
    raw.headers["content-type"] = undefined;
    done();
  });
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));

  const paths: string[] = []; // with the prefixes of all scopes; "/" in a scope with a prefix is two routes
  app.addHook("onRoute", ({ url }) => void paths.push(url, `${url}/`));
  app.post(options.path, (request, reply) => handle(request, reply));

  // Which other methods the application has is known only when it has started, too late for a route: so whatever finds
  // none is caught at the root, where Fastify handles it.
  rootOf(app).addHook("onRequest", (request, reply, done) => {
    const path = request.is404 ? paths.find((each) => matches(each, request.url)) : undefined;
    if (path === undefined || request.method === "POST") return done();
    const methods = app.supportedMethods.filter((method) => app.hasRoute({ method, url: path }));
    if (methods.includes("POST")) handle(request, reply, methods.join(", "));
    else done();
  });
}

/** A scope inherits from the one that it was registered in. */
function rootOf(app: FastifyInstance): FastifyInstance {
  const parent = Object.getPrototypeOf(app);
  return typeof parent?.addHook === "function" ? rootOf(parent) : app;
}

/** Whether a path of Fastify's router, perhaps with parameters, is that of a request's target. */
function matches(path: string, target: string): boolean {
  const literal = path.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  const pattern = literal.replace(/:[^/-]+/g, "[^/]+").replace(/\*/g, ".*");
  return new RegExp(`^${pattern}$`).test(target.replace(/[?;#].*$/s, ""));
}
