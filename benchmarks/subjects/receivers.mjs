/**
 * Our receivers beside routes that verify by hand and with stripe, in four frameworks. As a
 * program, it is one of the servers; the arguments are the framework and the variant.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { openSocket, send, startModule } from "../measure.mjs";
import { byHand, eventText } from "./verify.mjs";

const connections = 32;
const requests = 3_000;
const frameworks = ["node:http", "Express", "Fastify", "Hono"];
const variants = ["receiver", "by hand", "stripe constructEvent"];
const secret = "whsec_bench";
const path = "/webhooks";
const maxBytes = 1024 * 1024;
const options = { secret, handler: () => {} };

export default {
  title: "Receiving a webhook",
  notes:
    "A delivery of 607 bytes, 32 at a time. The others only verify: no timeout, deduplication, outcomes or handler.",
  figures: {
    cpu: { label: "CPU µs" },
  },
  floor: "by hand",
  own: ["receiver"],
  starts: 3,
  warmUps: 5,
  panels: [20, 24].flatMap((node) =>
    frameworks.map((framework) => ({
      name: `${framework}, Node ${node}`,
      framework,
      node,
    })),
  ),
  packages: ["stripe", "express", "fastify", "hono", "@hono/node-server"],
  async open({ framework }) {
    const start = (variant) => startModule(import.meta.url, [framework, variant]);
    const started = await Promise.all(variants.map(start));
    const request = createRequest(Buffer.from(eventText(607)));
    return {
      variants: Object.fromEntries(
        variants.map((variant, i) => [variant, () => deliver(started[i], request)]),
      ),
      close: () => {
        for (const { child } of started) child.kill();
      },
    };
  },
};

/** @returns the figures of one round. */
async function deliver({ child, message: port }, request) {
  // New ones for each round, because servers close idle connections.
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(port)));
  const cpu = async () => {
    child.send("cpu");
    const [{ user, system }] = await once(child, "message");
    return user + system;
  };
  const before = await cpu();
  let left = requests;
  const sender = async (socket) => {
    while (left-- > 0) await send(socket, request, 204);
  };
  await Promise.all(sockets.map(sender));
  const figures = { cpu: ((await cpu()) - before) / requests };
  for (const socket of sockets) socket.destroy();
  return figures;
}

/** Prepared bytes, for `send`. */
function createRequest(body) {
  const t = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex");
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/json",
    `content-length: ${body.length}`,
    "service-event: balance.changed",
    "service-delivery: dlv_1",
    `service-signature: t=${t},v1=${signature}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}

/** @returns undefined for our receiver. */
async function loadVerify(variant) {
  if (variant === "receiver") return undefined;
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

/**
 * By framework: a server with our receiver, or with a function that verifies in a route as an
 * engineer writes it, with the framework's own parser and a body limit.
 */
const servers = {
  async "node:http"(verify) {
    const { nodeReceiver } = await import("@loyalty-cards/webhook-verify/node");
    if (verify === undefined) return createServer(nodeReceiver(options));
    return createServer((request, response) => {
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
    });
  },
  async Express(verify) {
    const { default: express } = await import("express");
    const { expressReceiver } = await import("@loyalty-cards/webhook-verify/express");
    if (verify === undefined) return createServer(express().post(path, expressReceiver(options)));
    const parser = express.raw({ type: "application/json", limit: maxBytes });
    const app = express().post(path, parser, (request, response) => {
      response.status(getStatus(verify, request.body, request.headers)).end();
    });
    return createServer(app);
  },
  async Fastify(verify) {
    const { fastify } = await import("fastify");
    const { fastifyReceiver } = await import("@loyalty-cards/webhook-verify/fastify");
    const app = fastify({ bodyLimit: maxBytes });
    if (verify === undefined) app.register(fastifyReceiver, { path, ...options });
    else {
      app.addContentTypeParser(
        "application/json",
        { parseAs: "buffer" },
        (_request, body, done) => {
          done(null, body);
        },
      );
      app.post(path, ({ body, headers }, reply) => {
        reply.code(getStatus(verify, body, headers)).send();
      });
    }
    await app.ready();
    return app.server;
  },
  async Hono(verify) {
    const { Hono } = await import("hono");
    const { getRequestListener } = await import("@hono/node-server");
    const { fetchReceiver } = await import("@loyalty-cards/webhook-verify/fetch");
    const receive = fetchReceiver(options);
    const app = new Hono().post(path, async (context) => {
      if (verify === undefined) return receive(context.req.raw);
      // Without a body limit: Hono's takes longer than the verification.
      const body = Buffer.from(await context.req.arrayBuffer());
      const headers = { "service-signature": context.req.header("service-signature") };
      return context.body(null, getStatus(verify, body, headers));
    });
    return createServer(getRequestListener(app.fetch));
  },
};

async function serve() {
  const [framework, variant] = process.argv.slice(2);
  const server = await servers[framework](await loadVerify(variant));
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  process.on("message", () => process.send(process.cpuUsage()));
}
if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
