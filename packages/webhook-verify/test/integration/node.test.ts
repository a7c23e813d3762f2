/** The node:http adapter. */
import { createServer } from "node:http";
import { nodeReceiver } from "../../src/adapters/node.ts";
import { describeAdapter, listening } from "../adapter-contract.ts";

describeAdapter("node:http", {
  start: async (options) => listening(createServer(nodeReceiver(options))),
});
