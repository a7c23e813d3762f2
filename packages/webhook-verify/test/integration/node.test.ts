/** The node:http adapter. */
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { nodeReceiver } from "../../src/adapters/node.ts";
import { describeAdapter, listening } from "../adapter-contract.ts";

it("warns when nobody takes the events over", () => {
  const log: string[] = [];
  nodeReceiver({ secret: "whsec_1", log: (line) => log.push(line) });
  expect(log).toEqual([expect.stringMatching(/no accept, process or inbox/)]);
});

describeAdapter("node:http", {
  start: async (options) => listening(createServer(nodeReceiver(options))),
});
