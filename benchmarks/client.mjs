/** issueCard over fetch and over undici, as ratios to bare fetch, beside openapi-fetch: over loopback, 32 at a time. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import createClient from "openapi-fetch";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";
import { undiciTransport } from "../packages/issuing-client/dist/undici.js";
import { concurrency, inProcesses, sideBySide, spread } from "./measure.mjs";

const processes = Number(process.env.PROCESSES ?? 5);
const rounds = 5;
const body = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};

if (process.send !== undefined) {
  process.send(await measured());
  process.disconnect();
} else {
  const results = await inProcesses(fileURLToPath(import.meta.url), processes);
  console.log(
    `Node ${process.versions.node}, ${concurrency} at a time, ratio to bare fetch, median of ${processes} processes (smallest–largest):`,
  );
  for (const [i, { name }] of results[0].entries()) {
    const [time, cpu] = ["ratio", "processorRatio"].map((which) =>
      spread(results.map((ratios) => ratios[i][which])),
    );
    console.log(`${name.padEnd(20)}time ${time}   cpu ${cpu}`);
  }
}

async function measured() {
  const service = fork(fileURLToPath(new URL("service.mjs", import.meta.url)));
  const baseUrl = `http://127.0.0.1:${await new Promise((resolve) => service.once("message", resolve))}`;
  let key = 0;
  const headers = () => ({
    authorization: "Bearer k",
    "content-type": "application/json",
    "idempotency-key": `k${key++}`,
  });
  const plain = createClient({ baseUrl: `${baseUrl}/api/v1` });
  const client = createIssuingClient({ baseUrl, apiKey: "k" });
  const bareFetch = async () => {
    const init = { method: "POST", headers: headers(), body: JSON.stringify(body) };
    return (await fetch(`${baseUrl}/api/v1/templates/t/passes`, init)).json();
  };
  await bareFetch(); // before undici is loaded, which replaces the runtime's own
  const { Agent } = await import("undici");
  const transport = undiciTransport(new Agent());
  const fastClient = createIssuingClient({ baseUrl, apiKey: "k", transport });

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

  const { ratios } = await sideBySide({ baseline: bareFetch, subjects, calls: 4_000, rounds });
  service.kill();
  return ratios;
}
