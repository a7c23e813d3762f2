/** The mock server beside other mock servers: issuing over sockets, its start, and many cards. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { processorSeconds, quantile, residentMiB, startTimers } from "../measure.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "benchmark-mock-"));
const bin = here("../../packages/mock-server/bin.js");
const connections = 10;
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
const roundMs = 1_000;

/** The programs. Those that print no address listen on a port that is given to them, and know no API key. */
const programs = {
  "node:http by hand": { args: () => [here("../mock-servers.mjs"), "by hand"] },
  "mock-server": { args: () => [bin, "--port", "0", "--json", "--quiet"] },
  "MSW behind node:http": { args: () => [here("../mock-servers.mjs"), "MSW"] },
  Prism: {
    path: "/templates/tpl_mock/passes",
    args: (port) => [
      here("../../compat/node_modules/@stoplight/prism-cli/dist/index.js"),
      ...["mock", "--port", port, "--verboseLevel", "fatal", here("../../openapi/generated/openapi.json")],
    ],
  },
  "json-server": {
    path: "/passes",
    args: (port) => {
      const file = join(folder, `${port}.json`);
      writeFileSync(file, '{"passes":[]}');
      return [here("../node_modules/json-server/lib/cli/bin.js"), "--port", port, "--quiet", file];
    },
  },
};

export default {
  title: "The mock server",
  question:
    "How many cards does a mock server issue, how soon after its start, and does that depend on how many cards exist?",
  notes: `Each request of the first panel has a phone number and an idempotency key of its own, on one of ${connections} connections. The server by hand checks
the API key and the consent, and stores card and key in maps; MSW's handler does the same. Prism stores nothing and returns an example. json-server rewrites its file. The
processor time is that of the server. The start ends with the first 201. The idle memory is that of a server that listens and got no request yet.

Growth: requests to \`service.fetch\` without a socket. The memory of a card includes its customer and its idempotency key.`,
  figures: {
    rate: { label: "cards per second", unit: "", higherIsBetter: true },
    p99: { label: "99th percentile of the response time", unit: "ms", plot: true },
    cpu: { label: "processor time per card", unit: "µs" },
    start: { label: "start", unit: "ms", plot: true },
    idle: { label: "memory (RSS) idle", unit: "MiB", compare: "none" },
    memory: { label: "memory after the first card", unit: "MiB", compare: "none" },
    issue: { label: "processor time to issue", unit: "µs", compare: "none" },
    read: { label: "processor time to read", unit: "µs", compare: "none" },
    bytes: { label: "memory per card", unit: "bytes", compare: "none" },
  },
  floor: "node:http by hand",
  own: ["mock-server", "service.fetch"],
  packages: ["msw", "json-server", "@stoplight/prism-cli"],
  panels: [
    { name: "Issuing", starts: 3 },
    { name: "Start", starts: 1, warmUps: 0, rounds: 7 },
  ],
  growth: [
    { name: "More cards", unit: "cards", x: [1e2, 1e3, 1e4, 1e5, 1e6], figures: ["issue", "read", "bytes"] },
  ],
  async open({ name, x }) {
    if (x !== undefined) return openService(x);
    const measure = name === "Start" ? measureStart : measureIssuing;
    const servers = name === "Start" ? {} : await startAll();
    const variants = Object.keys(programs).map((program) => [
      program,
      () => measure(program, servers[program]),
    ]);
    return { variants: Object.fromEntries(variants) };
  },
};

async function startAll() {
  const entries = [];
  for (const program of Object.keys(programs)) entries.push([program, await start(program)]);
  return Object.fromEntries(entries);
}

/** Starts a server, reads its idle memory, and issues its first card. */
async function start(program) {
  const { args, path } = programs[program];
  const port = path === undefined ? undefined : String(await findFreePort());
  const child = spawn(process.execPath, args(port), { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const server = { child, port, path, key: "key", cards: 0 };
  if (path === undefined) {
    const [line] = await once(child.stdout, "data");
    const { baseUrl, apiKeys, templateId } = JSON.parse(String(line));
    server.port = new URL(baseUrl).port;
    server.path = `/api/v1/templates/${templateId}/passes`;
    server.key = apiKeys.website;
  }
  child.stdout.resume();
  while (!(await canConnect(server.port))) await pause();
  server.idle = residentMiB(child.pid);
  while (!(await issueCards(server, 1, 0).catch(() => undefined))) await pause();
  return server;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 2));

async function canConnect(port) {
  const socket = connect({ port, host: "127.0.0.1" });
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

async function measureStart(program) {
  const startedMs = performance.now();
  const server = await start(program);
  const figures = {
    start: performance.now() - startedMs,
    idle: server.idle,
    memory: residentMiB(server.child.pid),
  };
  server.child.kill("SIGKILL");
  await once(server.child, "exit");
  children.delete(server.child);
  return figures;
}

async function measureIssuing(_program, server) {
  const before = processorSeconds(server.child.pid);
  const startedMs = performance.now();
  const times = await issueCards(server, connections, roundMs);
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpu = ((processorSeconds(server.child.pid) - before) / times.length) * 1e6;
  return { rate: times.length / seconds, p99: quantile(times, 0.99), cpu };
}

/** Issues cards on some connections for some time, at least one on each. @returns the time of each response in milliseconds. */
async function issueCards(server, count, ms) {
  const untilMs = performance.now() + ms;
  const times = [];
  const issueOnOne = async () => {
    const socket = connect({ port: server.port, host: "127.0.0.1", noDelay: true }).setEncoding("latin1");
    await once(socket, "connect");
    do {
      const startedMs = performance.now();
      await send(socket, createRequest(server));
      times.push(performance.now() - startedMs);
    } while (performance.now() < untilMs);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: count }, issueOnOne));
  return times;
}

/** Prepared text: an HTTP client would use more time than the servers. */
function createRequest(server) {
  const card = server.cards++;
  const customer = `{"phone":"+48${600_000_000 + card}","consents":{"privacy":{"version":"2026-01"}}}`;
  const body = `{"fieldValues":{"name":"Anna"},"customer":${customer}}`;
  const head = `POST ${server.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.key}\r\nidempotency-key: user-${card}`;
  return `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** All servers send a content-length. */
const send = (socket, request) =>
  new Promise((resolve, reject) => {
    let response = "";
    const read = (chunk) => {
      response += chunk;
      const end = response.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(response)?.[1]);
      if (end < 0 || response.length < end + 4 + length) return;
      socket.off("data", read);
      if (response.startsWith("HTTP/1.1 201 ")) resolve();
      else reject(new Error(response));
    };
    socket.on("data", read).write(request);
  });

async function findFreePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The service in this process, with a number of cards. */
async function openService(count) {
  const { createMockService } = await import("@loyalty-cards/mock-server");
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  const service = createMockService();
  const { baseUrl, templateId, apiKeys } = service;
  const headers = { authorization: `Bearer ${apiKeys.website}`, "content-type": "application/json" };
  const url = `${baseUrl}/api/v1/templates/${templateId}/passes`;
  let index = 0;
  const issue = async () => {
    const customer = { phone: `+48${600_000_000 + index}`, consents: { privacy: { version: "2026-01" } } };
    const body = JSON.stringify({ fieldValues: { name: "Anna" }, customer });
    const key = { "idempotency-key": `user-${index++}` };
    const response = await service.fetch(
      new Request(url, { method: "POST", headers: { ...headers, ...key }, body }),
    );
    if (response.status !== 201) throw new Error(`Card ${index}: status ${response.status}`);
    return response.json();
  };
  const times = async (calls, call) => {
    const stop = startTimers();
    for (let i = 0; i < calls; i++) await call();
    return stop(calls).cpu;
  };
  for (let i = 0; i < 3_000; i++) await issue(); // compiles
  service.reset();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < count; i++) await issue();
  collectGarbage();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  const { id } = await issue();
  const read = () =>
    service
      .fetch(new Request(`${baseUrl}/api/v1/passes/${id}`, { headers }))
      .then((response) => response.json());
  return {
    variants: {
      "service.fetch": async () => ({
        issue: await times(2_000, issue),
        read: await times(2_000, read),
        bytes,
      }),
    },
  };
}
