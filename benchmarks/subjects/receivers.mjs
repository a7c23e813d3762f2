/** Our receivers beside routes that verify by hand and with stripe, in four frameworks. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { eventText } from "../by-hand.mjs";
import { openSocket, send, startModule } from "../measure.mjs";

const connections = 32;
const requests = 3_000;
const variants = ["receiver", "by hand", "stripe constructEvent"];

export default {
  title: "Receiving a webhook",
  question:
    "How much processor time does a delivery take in a server, beside a route that only verifies the signature?",
  notes: `Each delivery is a POST of 607 bytes from plain sockets, 32 at a time, and the response is 204. The processor time is that of the
server's process, after it has received 15 000. The routes by hand and with stripe use the framework's own parser and, except in Hono, a body limit; they have no timeout,
no deduplication and no outcomes, and call no handler.`,
  figures: {
    cpu: { label: "processor time per delivery", unit: "µs" },
  },
  floor: "by hand",
  own: ["receiver"],
  starts: 3,
  warmUps: 5,
  panels: ["node:http", "Express", "Fastify", "Hono"].map((name) => ({ name })),
  packages: ["stripe", "express", "fastify", "hono", "@hono/node-server"],
  async open({ name: framework }) {
    const module = new URL("../webhook-servers.mjs", import.meta.url);
    const servers = await Promise.all(variants.map((variant) => startModule(module, [framework, variant])));
    const request = createRequest(Buffer.from(eventText(607)));
    return {
      variants: Object.fromEntries(
        variants.map((variant, i) => [variant, () => deliver(servers[i], request)]),
      ),
      close: () => {
        for (const { child } of servers) child.kill();
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
  const signature = createHmac("sha256", "whsec_bench").update(`${t}.`).update(body).digest("hex");
  const head = [
    "POST /webhooks HTTP/1.1",
    "host: 127.0.0.1",
    "content-type: application/json",
    `content-length: ${body.length}`,
    "service-event: balance.changed",
    "service-delivery: dlv_1",
    `service-signature: t=${t},v1=${signature}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}
