/** Sends signed deliveries at a constant rate, independent of the responses, and reports the response times. */
import { Agent, request } from "node:http";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { createEvent } from "./by-hand.mjs";
import { quantile } from "./measure.mjs";

const [port, secret, name] = process.argv.slice(2);
const perSecond = 500;
const seconds = 8;
const warmUp = perSecond; // the first second is not counted
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/** @returns the response time in milliseconds. */
function deliver(index) {
  const rawBody = JSON.stringify(createEvent(`evt_${name}_${index}`));
  const signature = signWebhookSync({ rawBody, secret });
  const headers = { "service-signature": signature, "content-length": Buffer.byteLength(rawBody) };
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent, headers }, (response) => {
      response.resume().once("end", () => {
        if (response.statusCode === 204) resolve(performance.now() - startedMs);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    sent.once("error", reject).end(rawBody);
  });
}

const startedMs = performance.now();
const all = [];
while (all.length < perSecond * seconds) {
  const due = Math.min(perSecond * seconds, Math.floor(((performance.now() - startedMs) / 1000) * perSecond));
  while (all.length < due) all.push(deliver(all.length));
  await new Promise((resolve) => setTimeout(resolve, 1));
}
const times = (await Promise.all(all)).slice(warmUp);
agent.destroy();
process.send({ p50: quantile(times, 0.5), p99: quantile(times, 0.99) }, () => process.disconnect());
