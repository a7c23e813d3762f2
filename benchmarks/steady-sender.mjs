/** Sends signed deliveries at a constant rate, independent of the responses, and reports the response times. */
import { Agent, request } from "node:http";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";

const [port, secret, name] = process.argv.slice(2);
const perSecond = 500;
const seconds = 8;
const warmUp = perSecond; // the first second is not counted
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const times = [];
let failed = 0;

function deliver(index) {
  return new Promise((resolve) => {
    const data = {
      passId: "card_1",
      customerId: "cus_1",
      balance: 1,
      change: 1,
      operation: { id: "op_1", type: "purchase" },
    };
    const id = `evt_${name}_${index}_${Date.now()}`;
    const rawBody = JSON.stringify({
      id,
      type: "balance.changed",
      createdAt: new Date().toISOString(),
      data,
    });
    const signature = signWebhookSync({ rawBody, secret, timestamp: Math.floor(Date.now() / 1000) });
    const headers = { "service-signature": signature, "content-length": Buffer.byteLength(rawBody) };
    const startedMs = performance.now();
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent, headers }, (response) => {
      response.resume().once("end", () => {
        if (response.statusCode !== 204) failed += 1;
        else if (index >= warmUp) times.push(performance.now() - startedMs);
        resolve();
      });
    });
    sent.once("error", () => {
      failed += 1;
      resolve();
    });
    sent.end(rawBody);
  });
}

const startedMs = performance.now();
const all = [];
while (all.length < perSecond * seconds) {
  const due = Math.min(perSecond * seconds, Math.floor(((performance.now() - startedMs) / 1000) * perSecond));
  while (all.length < due) all.push(deliver(all.length));
  await new Promise((resolve) => setTimeout(resolve, 1));
}
await Promise.all(all);
agent.destroy();
times.sort((one, other) => one - other);
const at = (share) => times[Math.floor(times.length * share)];
process.send({ p50: at(0.5), p99: at(0.99), failed }, () => process.disconnect());
