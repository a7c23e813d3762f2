/**
 * issueCard beside node:http, fetch, undici and other clients: a JSON POST over loopback, 32 at a
 * time.
 */
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { perCall } from "../measure.mjs";

const calls = 2_000;
const path = "/api/v1/templates/t/passes";
const body = {
  fieldValues: { name: "Anna" },
  customer: { phone: "+48600100200", consents: { privacy: { version: "1" } } },
};
let counter = 0;
const key = () => `key_${counter++}`;
const headers = () => ({ authorization: "Bearer k", "idempotency-key": key() });
const jsonHeaders = () => ({ ...headers(), "content-type": "application/json" });

/**
 * The senders by name. Each is created in a process of its own, which imports nothing that another
 * one needs.
 */
const senders = {
  "bare fetch": createBareFetch,
  "bare node:http": createBareHttp,
  "bare undici": createBareUndici,
  issueCard: (baseUrl) => createOwn(baseUrl, ["idempotencyKey", key]),
  "issueCard, userId": (baseUrl) => createOwn(baseUrl, ["userId", key]),
  "issueCard, fetch": (baseUrl) =>
    createOwn(baseUrl, ["idempotencyKey", key], { fetch: globalThis.fetch }),
  "issueCard, fetch, userId": (baseUrl) =>
    createOwn(baseUrl, ["userId", key], { fetch: globalThis.fetch }),
  "openapi-fetch": createOpenapiFetch,
  stripe: createStripe,
  ky: createKy,
  "axios + axios-retry": createAxios,
};

const peers = ["ky", "axios", "axios-retry", "stripe"];

export default {
  title: "Issuing a card",
  notes:
    "A POST that issues a card, 32 at a time; every client with its documented retries and time limits.",
  figures: {
    cpu: { label: "CPU µs" },
  },
  floor: "bare node:http",
  starts: 1,
  rounds: 7,
  warmUps: 0,
  own: ["", ", userId", ", fetch", ", fetch, userId"].map((options) => `issueCard${options}`),
  panels: [
    { name: "Node 20", node: 20 },
    { name: "Node 24", node: 24 },
  ],
  packages: [...peers, "undici", "openapi-fetch", "node-20", "node-24"],
  alone: Object.keys(senders),
  /** @returns microseconds per call, when the code is warm. */
  async measureAlone(name, baseUrl) {
    const send = await senders[name](baseUrl);
    const response = await send();
    if ((response.data ?? response).id !== "card_1")
      throw new Error(`${name} returned ${JSON.stringify(response)}`);
    await perCall(send, calls);
    return perCall(send, 2 * calls);
  },
};

function createBareFetch(baseUrl) {
  const url = baseUrl + path;
  return async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: jsonHeaders(),
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`status ${response.status}`);
    return response.json();
  };
}

function createBareHttp(baseUrl) {
  const { hostname: host, port } = new URL(baseUrl);
  const agent = new HttpAgent({ keepAlive: true });
  return () =>
    new Promise((resolve, reject) => {
      const options = { agent, port, host, path, method: "POST", headers: jsonHeaders() };
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

async function createOwn(baseUrl, [name, create], options = {}) {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  const client = createIssuingClient({ baseUrl, apiKey: "k", ...options });
  return () => client.issueCard("t", body, { [name]: create() });
}

async function createOpenapiFetch(baseUrl) {
  const { default: createClient } = await import("openapi-fetch");
  const client = createClient({ baseUrl: `${baseUrl}/api/v1` });
  const params = { path: { templateId: "t" } };
  return () => client.POST("/templates/{templateId}/passes", { params, body, headers: headers() });
}

async function createStripe(baseUrl) {
  const { hostname: host, port } = new URL(baseUrl);
  const { default: Stripe } = await import("stripe");
  const stripe = new Stripe("k", { host, port, protocol: "http", telemetry: false });
  return () => stripe.rawRequest("POST", `/v2${path}`, body); // v2 is its JSON
}

async function createKy(baseUrl) {
  const { default: ky } = await import("ky");
  const client = ky.create({ retry: { limit: 2, methods: ["post"] } });
  return () => client.post(baseUrl + path, { json: body, headers: headers() }).json();
}

async function createAxios(baseUrl) {
  const { default: axios } = await import("axios");
  const { default: axiosRetry } = await import("axios-retry");
  const client = axios.create();
  axiosRetry(client, { retries: 2, retryCondition: axiosRetry.isRetryableError });
  return () => client.post(baseUrl + path, body, { headers: headers() });
}
