/** The mock server beside a server by hand and MSW: issuing over sockets, and the start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  endWithThis,
  openSocket,
  processorSeconds,
  quantile,
  residentMiB,
  send,
} from "../measure.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const bin = here("../../packages/mock-server/bin.js");
const connections = 10;
const roundMs = 1_000;

/** The programs. Each prints its address and its API key. */
const programs = {
  "node:http by hand": [here("../mock-servers.mjs"), "by hand"],
  "mock-server": [bin, "--port", "0", "--json", "--quiet"],
  "MSW behind node:http": [here("../mock-servers.mjs"), "MSW"],
};

export default {
  title: "The mock server",
  notes:
    "Each request issues a card, on one of 10 connections. The start ends with the first 201. Memory is RSS.",
  figures: {
    rate: { label: "cards/s", higherIsBetter: true },
    p99: { label: "p99 ms" },
    cpu: { label: "CPU µs" },
    start: { label: "ms" },
    idle: { label: "MiB idle", compare: "none" },
    memory: { label: "MiB after a card", compare: "none" },
  },
  floor: "node:http by hand",
  own: ["mock-server"],
  packages: ["msw"],
  panels: [
    { name: "Issuing", starts: 3 },
    { name: "Start", starts: 1, warmUps: 0, rounds: 7 },
  ],
  async open({ name }) {
    const variants = {};
    for (const program of Object.keys(programs)) {
      const server = name === "Start" ? undefined : await start(program);
      variants[program] = () =>
        server === undefined ? measureStart(program) : measureIssuing(server);
    }
    return { variants };
  },
};

/** Starts a server, reads its idle memory, and issues its first card. */
async function start(program) {
  const options = { stdio: ["ignore", "pipe", "inherit"] };
  const child = endWithThis(spawn(process.execPath, programs[program], options));
  const [line] = await once(child.stdout, "data");
  child.stdout.resume();
  const { baseUrl, apiKeys, templateId } = JSON.parse(String(line));
  const path = `/api/v1/templates/${templateId}/passes`;
  const server = { child, port: new URL(baseUrl).port, path, key: apiKeys.website, cards: 0 };
  server.idle = residentMiB(child.pid);
  await issueCards(server, 1, 0);
  return server;
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
  return figures;
}

async function measureIssuing(server) {
  const before = processorSeconds(server.child.pid);
  const startedMs = performance.now();
  const times = await issueCards(server, connections, roundMs);
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpu = ((processorSeconds(server.child.pid) - before) / times.length) * 1e6;
  return { rate: times.length / seconds, p99: quantile(times, 0.99), cpu };
}

/**
 * Issues cards on some connections for some time, at least one on each.
 * @returns the time of each response in milliseconds.
 */
async function issueCards(server, count, ms) {
  const untilMs = performance.now() + ms;
  const times = [];
  const issueOnOne = async () => {
    const socket = await openSocket(server.port);
    do {
      const startedMs = performance.now();
      await send(socket, createRequest(server), 201);
      times.push(performance.now() - startedMs);
    } while (performance.now() < untilMs);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: count }, issueOnOne));
  return times;
}

/** Prepared text, for `send`. */
function createRequest(server) {
  const card = server.cards++;
  const customer = `{"phone":"+48${600_000_000 + card}","consents":{"privacy":{"version":"2026-01"}}}`;
  const body = `{"fieldValues":{"name":"Anna"},"customer":${customer}}`;
  const head = `POST ${server.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.key}\r\nidempotency-key: user-${card}`;
  return `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}
