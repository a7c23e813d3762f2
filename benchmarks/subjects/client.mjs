/** issueCard beside fetch, node:http, undici and other clients: a JSON POST over loopback, 32 at a time. */
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { perCall, startModule } from "../measure.mjs";

const calls = 1_500;
const path = "/api/v1/templates/t/passes";
const body = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};
let counter = 0;
const key = () => `key_${counter++}`;
const idempotency = () => ({ "idempotency-key": key() });
const headers = () => ({ authorization: "Bearer k", ...idempotency() });
const jsonHeaders = () => ({ ...headers(), "content-type": "application/json" });

const peers = ["ky", "axios", "axios-retry", "stripe"];

export default {
  title: "Issuing a card",
  question: "How much processor time does a call of the client take, beside the same POST without a client?",
  notes: `Each call posts a card to a service in another process and parses the response, 32 calls at a time. Every client has its
documented retries and time limits. With a \`userId\`, \`issueCard\` derives the idempotency key with SHA-256; the others send a
counter. axios and stripe send over node:http, ky and openapi-fetch over fetch.`,
  figures: {
    cpu: { label: "processor time per call", unit: "µs" },
  },
  floor: "bare fetch",
  starts: 2,
  warmUps: 2,
  own: ["", ", userId", ", fetch", ", fetch, userId"].map((options) => `issueCard${options}`),
  panels: [
    { name: "Node 20", node: 20 },
    { name: "Node 24", node: 24, hasPeers: true },
  ],
  packages: [...peers, "undici", "openapi-fetch", "node-20", "node-24"],
  async open({ hasPeers = false }) {
    const { child, message: port } = await startModule(new URL("../issuing-service.mjs", import.meta.url));
    const baseUrl = `http://127.0.0.1:${port}`;
    const bareFetch = createBareFetch(baseUrl + path);
    await bareFetch(); // a package with its own undici can replace the global fetch if that has not been used
    const senders = {
      "bare fetch": bareFetch,
      "bare node:http": createBareHttp(port),
      "bare undici": await createBareUndici(baseUrl),
      ...(await createOwn(baseUrl)),
      "openapi-fetch": await createOpenapiFetch(baseUrl),
      ...(hasPeers && (await createPeers(baseUrl, port))),
    };
    const variants = {};
    for (const [name, send] of Object.entries(senders)) {
      const response = await send();
      if ((response.data ?? response).id !== "card_1")
        throw new Error(`${name} returned ${JSON.stringify(response)}`);
      variants[name] = () => perCall(send, calls);
    }
    return { variants, close: () => child.kill() };
  },
};

function createBareFetch(url) {
  return async () => {
    const response = await fetch(url, { method: "POST", headers: jsonHeaders(), body: JSON.stringify(body) });
    if (response.status !== 201) throw new Error(`status ${response.status}`);
    return response.json();
  };
}

function createBareHttp(port) {
  const agent = new HttpAgent({ keepAlive: true });
  return () =>
    new Promise((resolve, reject) => {
      const options = { agent, port, host: "127.0.0.1", path, method: "POST", headers: jsonHeaders() };
      const request = httpRequest(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => {
          text += chunk;
        });
        response.on("error", reject).on("end", () => {
          if (response.statusCode === 201) resolve(JSON.parse(text));
          else reject(new Error(`status ${response.statusCode}`));
        });
      });
      request.on("error", reject).end(JSON.stringify(body));
    });
}

async function createBareUndici(baseUrl) {
  const { Pool } = await import("undici");
  const pool = new Pool(baseUrl);
  return async () => {
    const options = { path, method: "POST", headers: jsonHeaders(), body: JSON.stringify(body) };
    const response = await pool.request(options);
    if (response.statusCode !== 201) throw new Error(`status ${response.statusCode}`);
    return response.body.json();
  };
}

async function createOwn(baseUrl) {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  const options = { baseUrl, apiKey: "k" };
  const client = createIssuingClient(options);
  const overFetch = createIssuingClient({ ...options, fetch: globalThis.fetch });
  return {
    issueCard: () => client.issueCard("t", body, { idempotencyKey: key() }),
    "issueCard, userId": () => client.issueCard("t", body, { userId: key() }),
    "issueCard, fetch": () => overFetch.issueCard("t", body, { idempotencyKey: key() }),
    "issueCard, fetch, userId": () => overFetch.issueCard("t", body, { userId: key() }),
  };
}

async function createOpenapiFetch(baseUrl) {
  const { default: createClient } = await import("openapi-fetch");
  const client = createClient({ baseUrl: `${baseUrl}/api/v1` });
  const params = { path: { templateId: "t" } };
  return () => client.POST("/templates/{templateId}/passes", { params, body, headers: headers() });
}

async function createPeers(baseUrl, port) {
  const { default: Stripe } = await import("stripe");
  const { default: ky } = await import("ky");
  const { default: axios } = await import("axios");
  const { default: axiosRetry } = await import("axios-retry");

  const url = baseUrl + path;
  const stripe = new Stripe("k", { host: "127.0.0.1", port, protocol: "http", telemetry: false });
  const kyClient = ky.create({ retry: { limit: 2, methods: ["post"] } });
  const axiosClient = axios.create();
  axiosRetry(axiosClient, { retries: 2, retryCondition: axiosRetry.isRetryableError });
  return {
    stripe: () => stripe.rawRequest("POST", `/v2${path}`, body), // v2 is its JSON
    ky: () => kyClient.post(url, { json: body, headers: headers() }).json(),
    "axios + axios-retry": () => axiosClient.post(url, body, { headers: headers() }),
  };
}
