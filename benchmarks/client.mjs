/** What issueCard costs beside bare fetch and plain openapi-fetch, over loopback, 32 at a time, as ratios of one run. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import createClient from "openapi-fetch";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";

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
const headers = () => ({
  authorization: "Bearer k",
  "content-type": "application/json",
  "idempotency-key": `k${key++}`,
});
const plain = createClient({ baseUrl: `${baseUrl}/api/v1` });
const client = createIssuingClient({ baseUrl, apiKey: "k" });

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
};

async function microsecondsPerCall(subject) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await subject();
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: concurrency }, caller));
  return ((performance.now() - startedMs) / calls) * 1000;
}

for (const subject of [bareFetch, ...Object.values(subjects)]) await microsecondsPerCall(subject);
console.log(
  `Node ${process.versions.node}, ${concurrency} at a time, median of ${rounds} rounds, times bare fetch:`,
);
for (const [name, subject] of Object.entries(subjects)) {
  const ratios = [];
  for (let round = 0; round < rounds; round++) {
    // Between two runs of the floor, so that a machine that slows down slows both.
    const before = await microsecondsPerCall(bareFetch);
    const own = await microsecondsPerCall(subject);
    ratios.push((2 * own) / (before + (await microsecondsPerCall(bareFetch))));
  }
  ratios.sort((a, b) => a - b);
  console.log(`${name.padEnd(16)}${ratios[Math.floor(rounds / 2)].toFixed(2)}`);
}
service.kill();
