/**
 * A webhook route in one framework, in a process of its own: with our receiver, or with a function that verifies in a route as
 * an engineer writes it, with the framework's own parser and a body limit. Arguments: framework, variant.
 */
import { createServer } from "node:http";
import { byHand } from "./by-hand.mjs";

const secret = "whsec_bench";
const path = "/webhooks";
const maxBytes = 1024 * 1024;
const options = { secret, handler: () => {} };

async function loadVerify(variant) {
  if (variant === "by hand") return (body, header) => byHand(body, header, secret);
  const { default: Stripe } = await import("stripe");
  const { webhooks } = new Stripe("sk_test");
  return (body, header) => webhooks.constructEvent(body, header, secret);
}

function getStatus(verify, body, headers) {
  try {
    verify(body, headers["service-signature"]);
    return 204;
  } catch {
    return 401;
  }
}

/** By framework: a server with our receiver, and one with the function. */
const servers = {
  "node:http": {
    async receiver() {
      const { nodeReceiver } = await import("@loyalty-cards/webhook-verify/node");
      return createServer(nodeReceiver(options));
    },
    byHand: (verify) =>
      createServer((request, response) => {
        const chunks = [];
        let length = 0;
        request.on("data", (chunk) => {
          length += chunk.length;
          if (length <= maxBytes) chunks.push(chunk);
          else if (!response.headersSent) response.writeHead(413, { connection: "close" }).end();
        });
        request.on("end", () => {
          if (response.headersSent) return;
          const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
          response.writeHead(getStatus(verify, body, request.headers)).end();
        });
      }),
  },
  Express: {
    async receiver() {
      const { default: express } = await import("express");
      const { expressReceiver } = await import("@loyalty-cards/webhook-verify/express");
      return createServer(express().post(path, expressReceiver(options)));
    },
    async byHand(verify) {
      const { default: express } = await import("express");
      const parser = express.raw({ type: "application/json", limit: maxBytes });
      const app = express().post(path, parser, (request, response) => {
        response.status(getStatus(verify, request.body, request.headers)).end();
      });
      return createServer(app);
    },
  },
  Fastify: {
    async receiver() {
      const { fastify } = await import("fastify");
      const { fastifyReceiver } = await import("@loyalty-cards/webhook-verify/fastify");
      const app = fastify();
      app.register(fastifyReceiver, { path, ...options });
      await app.ready();
      return app.server;
    },
    async byHand(verify) {
      const { fastify } = await import("fastify");
      const app = fastify({ bodyLimit: maxBytes });
      app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
        done(null, body);
      });
      app.post(path, ({ body, headers }, reply) => {
        reply.code(getStatus(verify, body, headers)).send();
      });
      await app.ready();
      return app.server;
    },
  },
  Hono: {
    async receiver() {
      const { Hono } = await import("hono");
      const { getRequestListener } = await import("@hono/node-server");
      const { fetchReceiver } = await import("@loyalty-cards/webhook-verify/fetch");
      const receive = fetchReceiver(options);
      const app = new Hono().post(path, (context) => receive(context.req.raw));
      return createServer(getRequestListener(app.fetch));
    },
    async byHand(verify) {
      const { Hono } = await import("hono");
      const { getRequestListener } = await import("@hono/node-server");
      // Without a body limit: Hono's takes longer than the verification.
      const app = new Hono().post(path, async (context) => {
        const body = Buffer.from(await context.req.arrayBuffer());
        const headers = { "service-signature": context.req.header("service-signature") };
        return context.body(null, getStatus(verify, body, headers));
      });
      return createServer(getRequestListener(app.fetch));
    },
  },
};

const [framework, variant] = process.argv.slice(2);
const { receiver, byHand: createByHand } = servers[framework];
const server = await (variant === "receiver" ? receiver() : createByHand(await loadVerify(variant)));
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.on("message", () => process.send(process.cpuUsage()));
