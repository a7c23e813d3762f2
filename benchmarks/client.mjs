/** What issueCard costs, over fetch and over undici, beside bare fetch and plain openapi-fetch: over loopback, 32 at a time. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import createClient from "openapi-fetch";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";
import { undiciTransport } from "../packages/issuing-client/dist/undici.js";

const calls = 4_000;
const concurrency = 32;
const rounds = 9;

const service = fork(fileURLToPath(new URL("service.mjs", import.meta.url)));
const baseUrl = `http://127.0.0.1:${await new Promise((resolve) => service.once("message", resolve))}`;
const body = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};
let key = 0;
/** Time passes also while others use the machine; what the process itself used says more there. */
const clocks = {
  time: () => performance.now() * 1000,
  cpu: () => process.cpuUsage().user + process.cpuUsage().system,
};
const headers = () => ({
  authorization: "Bearer k",
  "content-type": "application/json",
  "idempotency-key": `k${key++}`,
});
const plain = createClient({ baseUrl: `${baseUrl}/api/v1` });
const client = createIssuingClient({ baseUrl, apiKey: "k" });
await bareFetch(); // before undici is loaded, which would put itself in the place of the runtime's own
const { Agent } = await import("undici");
const transport = undiciTransport(new Agent());
const fastClient = createIssuingClient({ baseUrl, apiKey: "k", transport });

async function bareFetch() {
  const init = { method: "POST", headers: headers(), body: JSON.stringify(body) };
  return (await fetch(`${baseUrl}/api/v1/templates/t/passes`, init)).json();
}
const subjects = {
  "openapi-fetch": () =>
    plain.POST("/templates/{templateId}/passes", {
      params: { path: { templateId: "t" } },
      body,
      headers: headers(),
    }),
  issueCard: () => client.issueCard("t", body, { idempotencyKey: `k${key++}` }),
  "issueCard, undici": () => fastClient.issueCard("t", body, { idempotencyKey: `k${key++}` }),
};

/** @returns by clock, in microseconds. */
async function costPerCall(subject) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await subject();
  };
  const before = Object.entries(clocks).map(([name, read]) => [name, read()]);
  await Promise.all(Array.from({ length: concurrency }, caller));
  return Object.fromEntries(before.map(([name, started]) => [name, (clocks[name]() - started) / calls]));
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

for (const subject of [bareFetch, ...Object.values(subjects)]) await costPerCall(subject);
console.log(
  `Node ${process.versions.node}, ${concurrency} at a time, median of ${rounds} rounds, times bare fetch:`,
);
console.log(`${" ".repeat(20)}time   cpu`);
for (const [name, subject] of Object.entries(subjects)) {
  const ratios = { time: [], cpu: [] };
  for (let round = 0; round < rounds; round++) {
    // Between two runs of the floor, so that a machine that slows down slows both.
    const before = await costPerCall(bareFetch);
    const own = await costPerCall(subject);
    const after = await costPerCall(bareFetch);
    for (const clock of Object.keys(clocks))
      ratios[clock].push((2 * own[clock]) / (before[clock] + after[clock]));
  }
  console.log(`${name.padEnd(20)}${median(ratios.time).toFixed(2)}   ${median(ratios.cpu).toFixed(2)}`);
}
process.exit(service.kill() ? 0 : 1);
