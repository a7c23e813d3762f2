/** Receives deliveries in Fastify 5, leaving the parsers of all other routes alone. */
import type { FastifyInstance } from "fastify";
import { handingReceiver } from "../handing-receiver.ts";
import type { ReceiverOptions } from "../receiver.ts";
import { afterClose, headersFor, type NodeRequest, receiveFrom } from "./node-request.ts";

/** A receiver's options, and its route. */
export interface FastifyReceiverOptions extends ReceiverOptions {
  /** The route, e.g. `/webhooks`. */
  path: string;
}

const fix = "A hook of the parent read the body; register fastifyReceiver outside its scope.";

/** A plugin: `app.register(fastifyReceiver, { path: "/webhooks", secret, accept })`. */
export async function fastifyReceiver(app: FastifyInstance, options: FastifyReceiverOptions): Promise<void> {
  if (typeof options.path !== "string") throw new TypeError('path is missing: { path: "/webhooks", … }.');
  const receive = handingReceiver(options);
  // Inside this plugin's own scope: the bytes stay in the stream until the receiver wants them.
  app.removeAllContentTypeParsers();
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    // The bytes are verified whatever it says, also when it is malformed. Not deleted: that would slow every look-up.
    raw.headers["content-type"] = undefined;
    done();
  });
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.all(options.path, ({ raw }, reply) => {
    // Not awaited, which would have Fastify wait for a second promise.
    receiveFrom(receive, raw as NodeRequest, fix).then(
      ({ status, headers, afterAnswer }) => {
        afterClose(reply.raw, afterAnswer);
        reply.code(status).headers(headersFor(reply.raw, headers)).send();
      },
      (error) => reply.send(error),
    );
  });
}
