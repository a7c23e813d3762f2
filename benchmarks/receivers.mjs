/** Requests per second of each receiver, as ratios to the same route with a plain verification, beside stripe's. */
import { fork } from "node:child_process";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { byHand, eventText } from "./by-hand.mjs";
import { median, shuffled, spread } from "./measure.mjs";

const secret = "whsec_bench";
const path = "/webhooks";

async function loadStripe() {
  const { default: Stripe } = await import("stripe");
  const stripe = new Stripe("sk_test");
  return (body, header) => stripe.webhooks.constructEvent(body, header, secret);
}

const options = { secret, accept: () => {} };
const readBody = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
};
const getStatus = (verify, body, header) => {
  try {
    verify(body, header);
    return 204;
  } catch {
    return 401;
  }
};

/** By framework: a server with our receiver, or with a function that verifies. */
const servers = {
  async "node:http"(verify) {
    const { nodeReceiver } = await import("@loyalty-cards/webhook-verify/node");
    if (verify === undefined) return createServer(nodeReceiver(options));
    return createServer(async (request, response) => {
      const body = await readBody(request);
      response.writeHead(getStatus(verify, body, request.headers["service-signature"])).end();
    });
  },
  async Express(verify) {
    const { default: express } = await import("express");
    const { expressReceiver } = await import("@loyalty-cards/webhook-verify/express");
    const app = express();
    if (verify === undefined) app.post(path, expressReceiver(options));
    else {
      app.post(path, express.raw({ type: () => true }), (request, response) => {
        response.status(getStatus(verify, request.body, request.headers["service-signature"])).end();
      });
    }
    return createServer(app);
  },
  async Fastify(verify) {
    const { default: fastify } = await import("fastify");
    const { fastifyReceiver } = await import("@loyalty-cards/webhook-verify/fastify");
    const app = fastify();
    if (verify === undefined) await app.register(fastifyReceiver, { path, ...options });
    else {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
      app.post(path, async (request, reply) =>
        reply.code(getStatus(verify, request.body, request.headers["service-signature"])).send(),
      );
    }
    await app.ready();
    return app.server;
  },
  async Hono(verify) {
    const { Hono } = await import("hono");
    const { getRequestListener } = await import("@hono/node-server");
    const { fetchReceiver } = await import("@loyalty-cards/webhook-verify/fetch");
    const receive = fetchReceiver(options);
    const app = new Hono();
    if (verify === undefined) app.post(path, (context) => receive(context.req.raw));
    else {
      app.post(path, async (context) => {
        const body = Buffer.from(await context.req.arrayBuffer());
        return context.body(null, getStatus(verify, body, context.req.header("service-signature")));
      });
    }
    return createServer(getRequestListener(app.fetch));
  },
};

if (process.send !== undefined) {
  const [framework, kind] = process.argv.slice(2);
  const verify = {
    ours: undefined,
    byHand: (body, header) => byHand(body, header, secret),
    stripe: kind === "stripe" ? await loadStripe() : undefined,
  }[kind];
  const server = await servers[framework](verify);
  server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
  // Processor time of the server, because the machine may be busy.
  process.on("message", () => process.send({ cpu: process.cpuUsage() }));
} else {
  await compare();
}

async function compare() {
  /** Compilation differs between processes by up to a tenth, so there are several of each. */
  const starts = Number(process.env.STARTS ?? 7);
  const rounds = 5;
  const requests = 4_000;
  const connections = 32;
  const body = Buffer.from(eventText(607));
  console.log(
    `Node ${process.versions.node}, ${body.length} B, ${connections} connections, ratio to the route by hand; median of ${starts} starts (smallest–largest)`,
  );
  for (const framework of process.argv[2]?.split(",") ?? Object.keys(servers)) {
    const kinds = ["ours", "byHand", "stripe"];
    /** A 204 has no body, so the next request can follow its head. */
    const once = (socket, request) =>
      new Promise((resolve, reject) => {
        let response = "";
        const read = (chunk) => {
          response += chunk;
          if (!response.endsWith("\r\n\r\n")) return;
          socket.off("data", read);
          if (response.startsWith("HTTP/1.1 204 ")) resolve();
          else reject(new Error(`${framework} responded ${response}`));
        };
        socket.on("data", read).write(request);
      });
    const round = async (server, request) => {
      // New ones for each round, because servers close idle connections.
      const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(server.port)));
      const before = await server.cpu();
      const startedMs = performance.now();
      let left = requests;
      const sender = async (socket) => {
        while (left-- > 0) await once(socket, request);
      };
      await Promise.all(sockets.map(sender));
      const seconds = (performance.now() - startedMs) / 1000;
      const cpu = ((await server.cpu()) - before) / requests;
      for (const socket of sockets) socket.destroy();
      return { perSecond: requests / seconds, cpu };
    };
    /** Requests per second and processor time of each kind, as ratios to the route by hand. */
    const measureStart = async () => {
      const running = await Promise.all(kinds.map((kind) => startServer(framework, kind)));
      const results = kinds.map(() => []);
      const request = createRequest(body);
      for (let number = -2; number < rounds; number++) {
        for (const which of shuffled(kinds.keys())) {
          const result = await round(running[which], request);
          if (number >= 0) results[which].push(result);
        }
      }
      for (const { child } of running) child.kill();
      const ratio = (which, member) =>
        median(results[which].map((one, i) => one[member] / results[kinds.indexOf("byHand")][i][member]));
      return kinds.map((_, which) => ({ perSecond: ratio(which, "perSecond"), cpu: ratio(which, "cpu") }));
    };
    const all = [];
    for (let start = 0; start < starts; start++) all.push(await measureStart());
    const figure = (which, member) => spread(all.map((ratios) => ratios[which][member]));
    for (const kind of ["ours", "stripe"]) {
      const which = kinds.indexOf(kind);
      console.log(
        `${framework.padEnd(10)}${kind.padEnd(8)}requests/s ${figure(which, "perSecond")}   server CPU ${figure(which, "cpu")}`,
      );
    }
  }
}

/** Prepared bytes: an HTTP client would use more time than the servers. */
function createRequest(body) {
  const t = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex");
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/json",
    `content-length: ${body.length}`,
    `service-signature: t=${t},v1=${signature}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}

async function startServer(framework, kind) {
  const child = fork(fileURLToPath(import.meta.url), [framework, kind]);
  const { port } = await new Promise((resolve) => child.once("message", resolve));
  const cpu = () =>
    new Promise((resolve) => {
      child.once("message", (message) => resolve(message.cpu.user + message.cpu.system));
      child.send("cpu");
    });
  return { child, port, cpu };
}

function openSocket(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.setEncoding("latin1");
  return new Promise((resolve, reject) =>
    socket.once("connect", () => resolve(socket)).once("error", reject),
  );
}
