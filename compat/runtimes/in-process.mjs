/**
 * Node, Deno and Bun: runs the setup in a file on the built packages, and prints the results as
 * JSON.
 */
import { readFileSync } from "node:fs";
import { createIssuingClient } from "../../packages/issuing-client/dist/index.js";
import { fetchReceiver } from "../../packages/webhook-verify/dist/fetch.js";
import { verifyWebhook, verifyWebhookSync } from "../../packages/webhook-verify/dist/index.js";
import { runSetup } from "./setup.mjs";

const { undici, useFetch, ...setup } = JSON.parse(readFileSync(globalThis.process.argv[2], "utf8"));
const verifier = { verifyWebhook, verifyWebhookSync, fetchReceiver };
const results = await runSetup(setup, { createIssuingClient: await withTransport(), ...verifier });
console.log(JSON.stringify(results));
globalThis.process.exit(0);

/** The client with its default transport, or with the transport of the setup. */
async function withTransport() {
  if (!useFetch && undici === undefined) return createIssuingClient;
  const { fetch } = useFetch ? globalThis : await import(undici);
  return (options) => createIssuingClient({ ...options, fetch });
}
