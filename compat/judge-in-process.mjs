/** Node, Deno and Bun: judges the vectors with the built package and prints the verdicts as JSON. */
import { readFileSync } from "node:fs";
import { fetchReceiver } from "../packages/webhook-verify/dist/fetch.js";
import { verifyWebhook, verifyWebhookSync } from "../packages/webhook-verify/dist/index.js";
import { judge } from "./judge.mjs";

const { vectors } = JSON.parse(readFileSync(globalThis.process.argv[2], "utf8"));
console.log(JSON.stringify(await judge({ verifyWebhook, verifyWebhookSync, fetchReceiver, vectors })));
globalThis.process.exit(0);
