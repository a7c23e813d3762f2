/** The five methods against mocks that are not ours, which know only the OpenAPI document: Steady and Prism. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const document = here("../openapi/openapi.yaml");

/** How each is started, and where it says that a request keeps to the document. */
const mocks = {
  Steady: {
    command: here("node_modules/.bin/steady"),
    flags: (port) => ["--host", "127.0.0.1", "--port", port, "--log-level", "summary", document],
    isValid: (headers) => headers.get("x-steady-request-valid") === "true",
  },
  Prism: {
    command: here("node_modules/.bin/prism"),
    flags: (port) => ["mock", "--host", "127.0.0.1", "--port", port, "--verboseLevel", "silent", document],
    isValid: (headers) => !headers.has("sl-violations"),
  },
};

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const consents = { privacy: { version: "1" }, marketing: {} };
const customer = { phone: "+48600100200", email: "anna@example.com", name: "Anna", consents };

/** What each method was answered, and what the mock thought of the request. */
async function verdictsOf(port, isValid) {
  const verdicts = [];
  const options = {
    onResponse: ({ status, headers }) => verdicts.push(`${status} ${isValid(headers) ? "valid" : "invalid"}`),
  };
  const client = createIssuingClient({
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: "key",
    maxRetries: 20, // until it listens
    // They ignore the base path of the document's servers.
    fetch: (url, init) => fetch(String(url).replace("/api/v1", ""), init),
  });
  const card = await client.issueCard(
    "tpl_1",
    { fieldValues: { name: "Anna" }, customer },
    { ...options, userId: 1 },
  );
  await client.getCard(card.id, options);
  await client.listOperations(card.id, { limit: 5 }, options);
  await client.getConsent(card.id, options);
  await client.setConsent(card.id, { marketing: true, version: "1" }, options);
  // A mock that accepts everything would prove nothing. The client refuses this request, so it is sent without it.
  const { status, headers } = await fetch(`http://127.0.0.1:${port}/templates/tpl_1/passes`, {
    method: "POST",
    headers: { authorization: "Bearer key", "content-type": "application/json", "idempotency-key": "key_2" },
    body: JSON.stringify({ customer: {}, fieldValues: {} }),
  });
  verdicts.push(`${status} ${isValid(headers) ? "valid" : "invalid"}`);
  return verdicts;
}

const allValid = ["201 valid", "200 valid", "200 valid", "200 valid", "200 valid"];

for (const [name, { command, flags, isValid }] of Object.entries(mocks)) {
  const port = await freePort();
  const mock = spawn(command, flags(String(port)), { stdio: "ignore" });
  const gone = new Promise((resolve) => {
    mock.on("exit", resolve);
    mock.on("error", resolve); // not even started
  });
  try {
    const verdicts = await verdictsOf(port, isValid);
    const refused = verdicts.pop();
    if (verdicts.join() !== allValid.join()) throw new Error(verdicts.join(", "));
    if (!/^4\d\d invalid$/.test(refused))
      throw new Error(`a request without consents was answered ${refused}`);
    console.log(`✓ ${name.padEnd(10)} 5 methods, every request valid`);
  } catch (error) {
    console.log(`✗ ${name.padEnd(10)} ${error.message}`);
    process.exitCode = 1;
  } finally {
    mock.kill();
    await gone;
  }
}
