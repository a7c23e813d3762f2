/**
 * What `--data` costs: requests to a server with a data file and to one without, in turn, with many cards in both.
 * `node benchmarks/data-file.mjs [how many cards] [how many requests]`
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMockServer } from "../packages/mock-server/dist/node.js";

const [cards, requests] = [Number(process.argv[2] ?? 20_000), Number(process.argv[3] ?? 5_000)];
const folder = mkdtempSync(join(tmpdir(), "data-file-"));
const data = join(folder, "data.jsonl");
const servers = [await startMockServer(), await startMockServer({ data })];
let issued = 0;

async function issue({ service, url }, fetchIt) {
  const startedMs = performance.now();
  const headers = { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" };
  const phone = `+48${600_000_000 + issued++}`;
  const body = `{"fieldValues":{"name":"Anna"},"customer":{"phone":"${phone}","consents":{"privacy":{"version":"1"}}}}`;
  const request = new Request(`${url}/api/v1/templates/${service.templateId}/passes`, {
    method: "POST",
    headers,
    body,
  });
  const response = await fetchIt(request);
  if (response.status !== 201) throw new Error(String(response.status));
  await response.text();
  return performance.now() - startedMs;
}

for (const server of servers) {
  for (let index = 0; index < cards; index++) await issue(server, server.service.fetch);
}
const taken = [[], []];
for (let index = 0; index < requests; index++) {
  for (const which of index % 2 === 0 ? [0, 1] : [1, 0])
    taken[which].push(await issue(servers[which], fetch));
}
const means = taken.map((times) => times.reduce((sum, ms) => sum + ms, 0) / requests);
const [inMemory, withData] = taken.map((times) => times.sort((a, b) => a - b));
const at = (times, share) => times[Math.min(requests - 1, Math.floor(requests * share))].toFixed(2);
for (const [name, times] of [
  ["in memory", inMemory],
  ["with --data", withData],
]) {
  console.log(`${name}: median ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms, slowest ${at(times, 1)} ms`);
}
const ratio = withData[requests >> 1] / inMemory[requests >> 1];
console.log(
  `Node ${process.versions.node}, ${cards} cards: ratio of medians ${ratio.toFixed(2)}, of means ${(means[1] / means[0]).toFixed(2)}; file ${statSync(data).size} bytes`,
);
for (const server of servers) await server.close();
rmSync(folder, { recursive: true });
