/**
 * Requests per second of the mock server and of Prism with the same document: reading a card and issuing one, with 16
 * connections and each server in its own process. The client shares the machine, so it writes prepared bytes and parses little.
 * Requests per second of the server's processor time do not depend on the load of the machine (Linux).
 */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { median, processorSeconds, residentMiB } from "./measure.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const prism = createRequire(here("../compat/package.json")).resolve("@stoplight/prism-cli/dist/index.js");

const connections = 16;
const roundMs = 3_000;
const rounds = 5;
const body = '{"fieldValues":{"name":"Anna"},"customer":{"consents":{"privacy":{"version":"1"}}}}';

const own = await startOwn();
const other = await startPrism();
console.log(
  `Node ${process.versions.node}, ${connections} connections, median of ${rounds} rounds, requests/s:`,
);
for (const name of ["read", "issue"]) {
  await perSecond(own[name], 500);
  await perSecond(other[name], 500); // both warm
  const pairs = [];
  const before = [own, other].map(({ child }) => processorSeconds(child.pid));
  // In turn, so that a machine that slows down slows both.
  for (let round = 0; round < rounds; round++) {
    pairs.push([await perSecond(own[name], roundMs), await perSecond(other[name], roundMs)]);
  }
  const [ours, theirs] = [0, 1].map((side) => median(pairs.map((pair) => pair[side])));
  const ratio = median(pairs.map(([a, b]) => a / b));
  const [ownShare, otherShare] = [own, other].map(({ child }, side) => {
    const requests = pairs.reduce((sum, pair) => sum + pair[side] * (roundMs / 1_000), 0);
    return Math.round(requests / (processorSeconds(child.pid) - before[side]));
  });
  console.log(
    `${name.padEnd(8)}mock-server ${Math.round(ours)}   Prism ${Math.round(theirs)}   ${ratio.toFixed(1)} times`,
  );
  const share = `${ownShare}   ${otherShare}   ${(ownShare / otherShare).toFixed(1)} times`;
  console.log(`        per second of its processor time ${share}`);
}
for (const { name, child } of [own, other]) {
  console.log(`RSS afterwards, ${name}: ${residentMiB(child.pid).toFixed(0)} MiB`);
  child.kill();
}

async function startOwn() {
  const args = [here("../packages/mock-server/dist/bin.js"), "--port", "0", "--json", "--quiet"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((resolve) => child.stdout.once("data", (chunk) => resolve(String(chunk))));
  const { baseUrl, apiKeys, templateId } = JSON.parse(line);
  const headers = { authorization: `Bearer ${apiKeys.website}`, "content-type": "application/json" };
  const path = `/api/v1/templates/${templateId}/passes`;
  const issued = await fetch(baseUrl + path, { method: "POST", headers, body });
  const { id } = await issued.json();
  const { port } = new URL(baseUrl);
  const paths = { read: `/api/v1/passes/${id}`, issue: path };
  return { name: "mock-server", child, ...createRequests(Number(port), apiKeys.website, paths) };
}

async function startPrism() {
  const port = await freePort();
  const document = here("../openapi/openapi.json");
  const args = [prism, "mock", "--port", String(port), "--verboseLevel", "fatal", document];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const paths = { read: "/passes/card_1", issue: "/templates/tpl_mock/passes" };
  const headers = { authorization: "Bearer key" };
  for (const untilMs = Date.now() + 30_000; ; ) {
    const response = await fetch(`http://127.0.0.1:${port}${paths.read}`, { headers }).catch(() => undefined);
    if (response?.status === 200) return { name: "Prism", child, ...createRequests(port, "key", paths) };
    if (Date.now() > untilMs) throw new Error(`Prism did not start: ${response?.status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function createRequests(port, key, { read, issue }) {
  const head = `HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n`;
  const json = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  return {
    read: { port, status: "200", bytes: Buffer.from(`GET ${read} ${head}\r\n`) },
    issue: { port, status: "201", bytes: Buffer.from(`POST ${issue} ${head}${json}\r\n${body}`) },
  };
}

async function perSecond({ port, status, bytes }, ms) {
  let count = 0;
  const startedMs = performance.now();
  const caller = () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
      let text = "";
      socket.setNoDelay(true).on("error", reject);
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        if (!isComplete(text)) return;
        if (text.slice(9, 12) !== status) reject(new Error(text.slice(0, 200)));
        text = "";
        count += 1;
        if (performance.now() - startedMs < ms) socket.write(bytes);
        else socket.end(resolve);
      });
    });
  await Promise.all(Array.from({ length: connections }, caller));
  return (count / (performance.now() - startedMs)) * 1_000;
}

/** Both servers send content-length. */
function isComplete(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const length = /content-length: (\d+)/i.exec(text);
  if (length === null) throw new Error(`no content-length: ${text.slice(0, 300)}`);
  return text.length >= headEnd + 4 + Number(length[1]);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
