/** Node, Deno and Bun: runs the fault matrix or the signature vectors on the built package, and prints the results as JSON. */
import { readFileSync } from "node:fs";
import { createIssuingClient, fetchTransport } from "../../packages/issuing-client/dist/index.js";
import { fetchReceiver } from "../../packages/webhook-verify/dist/fetch.js";
import { verifyWebhook, verifyWebhookSync } from "../../packages/webhook-verify/dist/index.js";
import { runFaultMatrix } from "./fault-matrix.mjs";
import { verifyVectors } from "./signature-vectors.mjs";

const { undici, useFetch, vectors, ...setup } = JSON.parse(readFileSync(globalThis.process.argv[2], "utf8"));
const results =
  vectors === undefined
    ? await runFaultMatrix({ createIssuingClient: await withTransport(), ...setup })
    : await verifyVectors({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors });
console.log(JSON.stringify(results));
globalThis.process.exit(0);

/** The client with its default transport, or with the transport of the setup. */
async function withTransport() {
  if (useFetch) return (options) => createIssuingClient({ ...options, transport: fetchTransport() });
  if (undici === undefined) return createIssuingClient;
  const { fetch } = await import(undici);
  return (options) => createIssuingClient({ ...options, fetch });
}
