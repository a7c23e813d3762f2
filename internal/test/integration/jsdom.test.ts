/** Jest with jsdom hides what Node.js has: every package can be imported there nevertheless. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** As in jest-environment-jsdom 29. */
const hidden = [
  "TextDecoder",
  "TextEncoder",
  "Headers",
  "Request",
  "Response",
  "fetch",
  "setImmediate",
  "structuredClone",
  "ReadableStream",
  "BroadcastChannel",
];
const entryPoints = [
  "issuing-client",
  "webhook-verify",
  "issuing-outbox",
  "issuing-outbox/postgres",
  "webhook-inbox",
  "mock-server",
];

it("imports every package without them, and creates a client and a receiver", async () => {
  const program = `
    for (const name of ${JSON.stringify(hidden)}) delete globalThis[name];
    delete URL.canParse;
    for (const name of ${JSON.stringify(entryPoints)}) await import("@loyalty-cards/" + name);
    const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
    const { createReceiver } = await import("@loyalty-cards/webhook-verify");
    const { createMockService } = await import("@loyalty-cards/mock-server");
    createIssuingClient({ baseUrl: "http://127.0.0.1:9", apiKey: "k", headers: { "x-a": "b" } });
    createReceiver({ secret: "s", handler: () => {} });
    try { createMockService(); } catch (error) { console.log(error.message); }`;
  const options = ["--conditions=@loyalty-cards/source", "--import", "tsx", "--input-type=module"];
  const { stdout } = await promisify(execFile)(process.execPath, [...options, "--eval", program]);
  expect(stdout).toMatch(
    /^The mock service needs Request and Response, .* use the node environment/,
  );
});
