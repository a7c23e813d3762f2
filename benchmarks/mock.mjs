/**
 * The mock server: its start, the retries of one delivery, the cost of a data file, and a million cards.
 * `mock.mjs [start | retries | data-file | cards] [numbers …]`, without arguments all of them
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { createMockService, manualClock } from "../packages/mock-server/dist/index.js";
import { startMockServer } from "../packages/mock-server/dist/node.js";
import { median, processorSeconds, residentMiB } from "./measure.mjs";

const bin = fileURLToPath(new URL("../packages/mock-server/dist/bin.js", import.meta.url));
const benchmarks = { start, retries, "data-file": dataFile, cards: manyCards };

const [chosen, ...numbers] = process.argv.slice(2);
console.log(`Node ${process.versions.node}`);
for (const [name, benchmark] of Object.entries(benchmarks)) {
  if (chosen === undefined || chosen === name) await benchmark(...numbers.map(Number));
}

/** The time from the command to the first response, and the memory then (Linux), beside an empty process. */
async function start(rounds = 15) {
  const times = { empty: [], first: [], memory: [], processor: [] };
  for (let round = 0; round < rounds; round++) {
    times.empty.push(await run(["-e", "console.log(1)"], async () => {}));
    const firstResponse = async (line, child) => {
      const { baseUrl, apiKeys, templateId } = JSON.parse(line);
      await issue({ baseUrl, apiKey: apiKeys.website, templateId, index: 0, send: fetch });
      times.memory.push(residentMiB(child.pid));
      times.processor.push(processorSeconds(child.pid) * 1_000);
    };
    times.first.push(await run([bin, "--port", "0", "--json"], firstResponse));
  }
  const [empty, first, memory, processor] = Object.values(times).map((values) => Math.round(median(values)));
  console.log(
    `start, medians of ${rounds}: an empty process ${empty} ms; the first 201 ${first} ms, ` +
      `processor time ${processor} ms, memory ${memory} MiB`,
  );
}

function run(args, onFirstLine) {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.once("data", (line) => {
      onFirstLine(String(line), child).then(() => {
        const tookMs = performance.now() - startedMs;
        child.kill("SIGKILL");
        child.once("close", () => resolve(tookMs));
      }, reject);
    });
  });
}

/** All attempts of one delivery, eight and a half hours of the service's time. */
async function retries(rounds = 51) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const deliver = () => new Response(null, { status: 500 });
    const service = createMockService({ clock: manualClock(), deliver });
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/webhooks", events: ["ping"] });
    const startedMs = performance.now();
    service.webhooks.sendTest(id);
    const attempts = await service.clock.advance("1d");
    times.push(performance.now() - startedMs);
    const [delivery] = service.webhooks.deliveries();
    if (delivery.state !== "failed" || attempts.length < 5) throw new Error(JSON.stringify(delivery));
  }
  const figures = [times[0], median(times), Math.max(...times)].map((ms) => ms.toFixed(1));
  console.log(`retries: first ${figures[0]} ms, median ${figures[1]} ms, slowest ${figures[2]} ms`);
}

/** Requests to a server with `--data` and to one without, in turn, with many cards in both. */
async function dataFile(cards = 20_000, requests = 5_000) {
  const folder = mkdtempSync(join(tmpdir(), "benchmark-data-file-"));
  const data = join(folder, "data.jsonl");
  const servers = [await startMockServer(), await startMockServer({ data })];
  let index = 0;
  const issueAt = async ({ url, service }, send) => {
    const startedMs = performance.now();
    const { templateId, apiKeys } = service;
    await issue({ baseUrl: url, apiKey: apiKeys.website, templateId, index: index++, send });
    return performance.now() - startedMs;
  };
  for (const server of servers) {
    for (let count = 0; count < cards; count++) await issueAt(server, server.service.fetch);
  }
  const times = [[], []];
  for (let request = 0; request < requests; request++) {
    for (const which of request % 2 === 0 ? [0, 1] : [1, 0])
      times[which].push(await issueAt(servers[which], fetch));
  }
  for (const [which, name] of ["in memory", "with --data"].entries()) {
    const sorted = times[which].sort((a, b) => a - b);
    const at = (share) => sorted[Math.min(requests - 1, Math.floor(requests * share))].toFixed(2);
    console.log(`${name}: median ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms`);
  }
  const mean = (values) => values.reduce((sum, ms) => sum + ms, 0) / values.length;
  console.log(
    `${cards} cards: ratio of medians ${(median(times[1]) / median(times[0])).toFixed(2)}, ` +
      `of means ${(mean(times[1]) / mean(times[0])).toFixed(2)}; file ${statSync(data).size} bytes`,
  );
  for (const server of servers) await server.close();
  rmSync(folder, { recursive: true });
}

/** The memory of a card with its customer and key, and whether the last cards take longer than the first. */
async function manyCards(cards = 1_000_000) {
  setFlagsFromString("--expose-gc");
  const { runInNewContext } = await import("node:vm");
  const collectGarbage = runInNewContext("gc");
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const service = createMockService();
  const { baseUrl, templateId, apiKeys } = service;
  const issueCard = (index) =>
    issue({ baseUrl, apiKey: apiKeys.website, templateId, index, send: service.fetch, key: `user-${index}` });
  for (let index = 0; index < 5_000; index++) await issueCard(index); // warm
  service.reset();
  const before = heapBytes();
  const microseconds = [];
  for (let part = 0; part < 10; part++) {
    const started = process.cpuUsage();
    for (let index = (part * cards) / 10; index < ((part + 1) * cards) / 10; index++) await issueCard(index);
    const { user, system } = process.cpuUsage(started);
    microseconds.push(Math.round((user + system) / (cards / 10)));
  }
  console.log(`${cards} cards: ${Math.round((heapBytes() - before) / cards)} bytes of heap each`);
  console.log(`processor time per issue, tenth by tenth, in microseconds: ${microseconds.join(" ")}`);
}

async function issue({ baseUrl, apiKey, templateId, index, send, key }) {
  const phone = `+48${600_000_000 + index}`;
  const customer = { phone, consents: { privacy: { version: "1" } } };
  const headers = {
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
    ...(key && { "idempotency-key": key }),
  };
  const body = JSON.stringify({ fieldValues: { name: "Anna" }, customer });
  const url = `${baseUrl}/api/v1/templates/${templateId}/passes`;
  const response = await send(new Request(url, { method: "POST", headers, body }));
  if (response.status !== 201) throw new Error(`card ${index}: ${response.status}`);
  await response.text();
}
