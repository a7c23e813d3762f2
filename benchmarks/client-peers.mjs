/** issueCard beside other clients that retry, as ratios to bare fetch: a JSON POST over loopback, 32 at a time. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { sideBySide } from "./measure.mjs";

const service = fork(fileURLToPath(new URL("service.mjs", import.meta.url)));
const port = await new Promise((resolve) => service.once("message", resolve));
const baseUrl = `http://127.0.0.1:${port}`;
const path = "/api/v1/templates/t/passes";
const url = baseUrl + path;

const body = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};
let key = 0;
const idempotency = () => ({ "idempotency-key": `k${key++}` });
const headers = () => ({ authorization: "Bearer k", ...idempotency() });

async function bareFetch() {
  const init = {
    method: "POST",
    headers: { ...headers(), "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  return (await fetch(url, init)).json();
}
// First of all: a package with its own undici can replace the global fetch if that has not been used.
await bareFetch();

const { createIssuingClient } = await import("../packages/issuing-client/dist/index.js");
const { undiciTransport } = await import("../packages/issuing-client/dist/undici.js");
const { Agent } = await import("undici");
const { default: Stripe } = await import("stripe");
const { default: OpenAI } = await import("openai");
const { default: Anthropic } = await import("@anthropic-ai/sdk");
const { default: ky } = await import("ky");
const { default: axios } = await import("axios");
const { default: axiosRetry } = await import("axios-retry");
const { default: got } = await import("got");
const { Octokit } = await import("@octokit/core");
const { retry } = await import("@octokit/plugin-retry");

/** Each as documented, with retries and its default time limits. */
const client = createIssuingClient({ baseUrl, apiKey: "k" });
const fastClient = createIssuingClient({ baseUrl, apiKey: "k", transport: undiciTransport(new Agent()) });
const stripeWith = (httpClient) =>
  new Stripe("k", { host: "127.0.0.1", port, protocol: "http", httpClient, telemetry: false });
const stripeFetch = stripeWith(Stripe.createFetchHttpClient());
const stripeNode = stripeWith(Stripe.createNodeHttpClient());
const openai = new OpenAI({ apiKey: "k", baseURL: baseUrl });
const anthropic = new Anthropic({ apiKey: "k", baseURL: baseUrl });
const kyClient = ky.create({ retry: { limit: 2, methods: ["post"] } });
const axiosWith = (adapter) => {
  const instance = axios.create({ adapter });
  axiosRetry(instance, { retries: 2, retryCondition: axiosRetry.isRetryableError });
  return instance;
};
const [axiosHttp, axiosFetch] = [axiosWith("http"), axiosWith("fetch")];
const gotClient = got.extend({ retry: { limit: 2, methods: ["POST"] } });
const octokit = new (Octokit.plugin(retry))({ baseUrl, auth: "k" });

const subjects = {
  issueCard: () => client.issueCard("t", body, { idempotencyKey: `k${key++}` }),
  "issueCard, undici": () => fastClient.issueCard("t", body, { idempotencyKey: `k${key++}` }),
  "stripe, fetch": () => stripeFetch.rawRequest("POST", `/v2${path}`, body), // v2 is its JSON
  openai: () => openai.post(path, { body, headers: idempotency() }),
  anthropic: () => anthropic.post(path, { body, headers: idempotency() }),
  "octokit + plugin-retry": () => octokit.request(`POST ${path}`, { ...body, headers: idempotency() }),
  ky: () => kyClient.post(url, { json: body, headers: headers() }).json(),
  "axios + axios-retry, fetch": () => axiosFetch.post(url, body, { headers: headers() }),
  "axios + axios-retry, http": () => axiosHttp.post(url, body, { headers: headers() }),
  got: () => gotClient.post(url, { json: body, headers: headers() }).json(),
  "stripe, http": () => stripeNode.rawRequest("POST", `/v2${path}`, body),
};

for (const [name, subject] of Object.entries(subjects)) {
  const response = await subject();
  if ((response.data ?? response).id !== "card_1")
    throw new Error(`${name} returned ${JSON.stringify(response)}`);
}
const rounds = 15;
const { baselineMicroseconds, ratios } = await sideBySide({
  baseline: bareFetch,
  subjects,
  calls: 1_000,
  rounds,
});
console.log(
  `Node ${process.versions.node}, 32 at a time, medians of ${rounds} rounds; bare fetch ${baselineMicroseconds.toFixed(0)} µs per call:`,
);
for (const { name, ratio, processorRatio } of ratios.sort((a, b) => a.ratio - b.ratio)) {
  const added = ((ratio - 1) * baselineMicroseconds).toFixed(0);
  console.log(
    `${name.padEnd(28)}× ${ratio.toFixed(2)}, cpu ${processorRatio.toFixed(2)}${added.padStart(7)} µs added per call`,
  );
}
service.kill();
process.exit(); // open connections would keep the process alive
