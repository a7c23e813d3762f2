/** Node, Deno and Bun: runs the matrix on the built package and prints the results as JSON. */
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";
import { runMatrix } from "./matrix.mjs";

const setup = JSON.parse(globalThis.process.argv[2]);
console.log(JSON.stringify(await runMatrix({ createIssuingClient, ...setup })));
globalThis.process.exit(0);
