/** The client's five methods against two mock servers of other authors, which know only the OpenAPI document: Steady and Prism. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createIssuingClient } from "../../packages/issuing-client/dist/index.js";
import { freePort } from "../../packages/webhook-inbox/test/own-redis.ts";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const document = here("../../openapi/openapi.yaml");

/** How each one starts, and how it reports that a request conforms to the document. */
const mocks = {
  Steady: {
    command: here("../node_modules/.bin/steady"),
    flags: (port) => ["--host", "127.0.0.1", "--port", port, "--log-level", "summary", document],
    isValid: (headers) => headers.get("x-steady-request-valid") === "true",
  },
  Prism: {
    command: here("../node_modules/.bin/prism"),
    flags: (port) => ["mock", "--host", "127.0.0.1", "--port", port, "--verboseLevel", "silent", document],
    isValid: (headers) => !headers.has("sl-violations"),
  },
};

it.each(Object.entries(mocks))(
  "sends only valid requests to %s",
  async (_name, { command, flags, isValid }) => {
    const port = await freePort();
    const mock = spawn(command, flags(String(port)), { stdio: "ignore" });
    try {
      const { methods, invalidRequest } = await getVerdicts(port, isValid);
      expect(methods).toEqual(["201 valid", "200 valid", "200 valid", "200 valid", "200 valid"]);
      expect(invalidRequest).toMatch(/^4\d\d invalid$/);
    } finally {
      mock.kill();
      if (mock.exitCode === null) await once(mock, "exit");
    }
  },
);

/** The status of each method's response, and whether the mock found the request valid. */
async function getVerdicts(port, isValid) {
  const toVerdict = (status, headers) => `${status} ${isValid(headers) ? "valid" : "invalid"}`;
  const methods = [];
  const options = { onResponse: ({ status, headers }) => methods.push(toVerdict(status, headers)) };
  const client = createIssuingClient({
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: "key",
    maxRetries: 20, // until the mock listens
    // The mocks ignore the base path of the document's servers.
    fetch: (url, init) => fetch(String(url).replace("/api/v1", ""), init),
  });
  const consents = { privacy: { version: "1" }, marketing: {} };
  const customer = { phone: "+48600100200", email: "anna@example.com", name: "Anna", consents };
  const request = { fieldValues: { name: "Anna" }, customer };
  const card = await client.issueCard("tpl_1", request, { ...options, userId: 1 });
  await client.getCard(card.id, options);
  await client.listOperations(card.id, { limit: 5 }, options);
  await client.getConsent(card.id, options);
  await client.setConsent(card.id, { marketing: true, version: "1" }, options);
  // A mock that accepts every request would prove nothing. The client rejects this one itself, so it is sent with fetch.
  const { status, headers } = await fetch(`http://127.0.0.1:${port}/templates/tpl_1/passes`, {
    method: "POST",
    headers: { authorization: "Bearer key", "content-type": "application/json", "idempotency-key": "key_2" },
    body: JSON.stringify({ customer: {}, fieldValues: {} }),
  });
  return { methods, invalidRequest: toVerdict(status, headers) };
}
