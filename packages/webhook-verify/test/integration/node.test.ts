/** The node:http adapter. */
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { expect, it } from "vitest";
import { nodeReceiver } from "../../src/adapters/node.ts";
import { listening, send } from "../adapter-contract.ts";
import { overHttp2 } from "../http2-request.ts";
import { balanceChanged, secret, signedDelivery } from "../signed-delivery.ts";

it("responds over HTTP/2", async () => {
  const receive = nodeReceiver({ secret, handler: () => {}, maxBodyBytes: 1000 });
  const server = createHttp2Server((request, response) => void receive(request as never, response as never));
  const { url, close } = await listening(server);
  const { body, headers } = signedDelivery(balanceChanged());
  expect(await overHttp2(url, body, headers)).toBe(204);
  expect(await overHttp2(url, "x".repeat(2000), headers)).toBe(413); // HTTP/2 does not allow `connection: close`
  await close();
});

it("does not fail when a response was sent before", async () => {
  const receive = nodeReceiver({ secret, handler: () => {} });
  const server = createServer((request, response) => {
    response.writeHead(503).end();
    void receive(request, response);
  });
  const { url, close } = await listening(server);
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(503);
  expect((await send(url, signedDelivery(balanceChanged()))).status).toBe(503);
  await close();
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
