/** Node, Deno and Bun: runs the matrix on the built package and prints the results as JSON. */
import { readFileSync } from "node:fs";
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";
import { runMatrix } from "./matrix.mjs";

const setup = JSON.parse(readFileSync(globalThis.process.argv[2], "utf8"));
console.log(JSON.stringify(await runMatrix({ createIssuingClient, ...setup })));
globalThis.process.exit(0);
