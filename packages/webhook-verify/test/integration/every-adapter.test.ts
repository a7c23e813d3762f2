/** The contract suite for each adapter, and the node:http adapter. */
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { nodeReceiver } from "../../src/adapters/node.ts";
import { describeAdapter, listening, send } from "../adapter-contract.ts";
import { everyAdapter, serving } from "../every-adapter.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

for (const { name, listener, parsing, ...adapter } of everyAdapter) {
  describeAdapter(name, {
    ...adapter,
    start: async (options) => serving(await listener(options), "HTTP/1.1"),
    ...(parsing && { startWithBodyParsed: async (options) => serving(await parsing(options), "HTTP/1.1") }),
  });
}

it("runs the shared test suite for each adapter", () => {
  const adapters = readdirSync(new URL("../../src/adapters", import.meta.url));
  const suite = readFileSync(new URL("../every-adapter.ts", import.meta.url), "utf8");
  const missing = adapters.filter((file) => !suite.includes(`/adapters/${file}`));
  expect(missing, "test/every-adapter.ts needs a row for each of these adapters").toEqual([]);
});

it("responds 500 after a middleware that decodes the body", async () => {
  const log: string[] = [];
  const receive = nodeReceiver({ secret, handler: () => {}, log: (line) => log.push(line) });
  const server = createServer((request, response) => {
    request.setEncoding("utf8");
    void receive(request, response);
  });
  const { url, close } = await listening(server);
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(500);
  expect(log).toEqual([expect.stringMatching(/before anything reads its body/)]);
  await close();
});
