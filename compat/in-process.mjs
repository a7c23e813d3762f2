/** Node, Deno and Bun: runs the matrix on the built package and prints the results as JSON. */
import { readFileSync } from "node:fs";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";
import { runMatrix } from "./matrix.mjs";

const { undici, ...setup } = JSON.parse(readFileSync(globalThis.process.argv[2], "utf8"));
const create = undici === undefined ? createIssuingClient : await overUndici(undici);
console.log(JSON.stringify(await runMatrix({ createIssuingClient: create, ...setup })));
globalThis.process.exit(0);

async function overUndici(version) {
  const { Agent } = await import(version);
  const { undiciTransport } = await import("../packages/issuing-client/dist/undici.js");
  const transport = undiciTransport(new Agent());
  return (options) => createIssuingClient({ ...options, transport });
}
