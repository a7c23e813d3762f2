/**
 * A million cards in one process, each with a customer, a phone number and an idempotency key of its own: how much
 * memory a card takes, and whether the last ones take longer than the first.
 * `node --expose-gc --max-old-space-size=4096 benchmarks/million.mjs [how many]`
 */
import { createMockService } from "../packages/mock-server/dist/index.js";

const cards = Number(process.argv[2] ?? 1_000_000);
const tenth = cards / 10;
const service = createMockService();
const url = `${service.baseUrl}/api/v1/templates/${service.templateId}/passes`;

async function issue(index) {
  const headers = {
    authorization: `Bearer ${service.apiKeys.website}`,
    "content-type": "application/json",
    "idempotency-key": `user-${index}`,
  };
  const phone = `+48${600_000_000 + index}`;
  const body = `{"fieldValues":{"name":"Anna"},"customer":{"phone":"${phone}","consents":{"privacy":{"version":"1"}}}}`;
  const { status } = await service.fetch(new Request(url, { method: "POST", headers, body }));
  if (status !== 201) throw new Error(`card ${index}: ${status}`);
}

function heapBytes() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

for (let index = -5_000; index < 0; index++) await issue(index); // warm
service.reset();
const before = heapBytes();
const microseconds = [];
for (let part = 0; part < 10; part++) {
  const { user, system } = process.cpuUsage();
  for (let index = part * tenth; index < (part + 1) * tenth; index++) await issue(index);
  const spent = process.cpuUsage();
  microseconds.push(Math.round((spent.user + spent.system - user - system) / tenth));
}
const perCard = (heapBytes() - before) / cards;
console.log(`Node ${process.versions.node}, ${cards} cards: ${Math.round(perCard)} bytes of heap each`);
console.log(`processor time per issue, tenth by tenth, in microseconds: ${microseconds.join(" ")}`);
