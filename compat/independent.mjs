/** The five methods against a mock that is not ours: Steady, which knows only the OpenAPI document. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
const steady = spawn(
  here("node_modules/.bin/steady"),
  ["--host", "127.0.0.1", "--port", String(port), "--log-level", "summary", here("../openapi/openapi.yaml")],
  { stdio: "ignore" },
);

const verdicts = [];
const client = createIssuingClient({
  baseUrl: `http://127.0.0.1:${port}`,
  apiKey: "key",
  maxRetries: 20, // until it listens
  // It ignores the base path of the document's servers.
  fetch: (url, init) => fetch(String(url).replace("/api/v1", ""), init),
});
const options = {
  onResponse: ({ status, headers }) => verdicts.push([status, headers.get("x-steady-request-valid")].join()),
};
const customer = {
  phone: "+48600100200",
  email: "anna@example.com",
  name: "Anna",
  consents: { privacy: { version: "1" }, marketing: {} },
};

let failed = "";
try {
  const card = await client.issueCard(
    "tpl_1",
    { fieldValues: { name: "Anna" }, customer },
    { ...options, userId: 1 },
  );
  await client.getCard(card.id, options);
  await client.listOperations(card.id, { limit: 5 }, options);
  await client.getConsent(card.id, options);
  await client.setConsent(card.id, { marketing: true, version: "1" }, options);
  if (verdicts.join(" ") !== "201,true 200,true 200,true 200,true 200,true") failed = verdicts.join(" ");
} catch (error) {
  failed = `${error.code}: ${error.message}`;
} finally {
  steady.kill();
}
console.log(failed === "" ? "✓ Steady     5 methods, every request valid" : `✗ Steady     ${failed}`);
process.exitCode = failed === "" ? 0 : 1;
