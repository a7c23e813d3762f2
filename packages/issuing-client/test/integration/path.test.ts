/** The path of a call: how many files and functions of ours a card needs. */
import { createServer } from "node:http";
import { listOwnFunctions } from "@loyalty-cards/internal/test/own-functions";
import { expect, it } from "vitest";
import { card, signUp } from "../scripted.ts";
import { listen } from "../server.ts";

it.each([
  ["node:http", "undefined"],
  ["fetch", "fetch"],
])("issues a card over %s through 9 files and 60 functions of ours at most", async (_name, fetch) => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(card));
  });
  const baseUrl = `http://127.0.0.1:${await listen(server)}`;
  const { files, functions } = await listOwnFunctions(`
    import { createIssuingClient } from "@loyalty-cards/issuing-client";
    const client = createIssuingClient({ baseUrl: "${baseUrl}", apiKey: "k", fetch: ${fetch} });
    const operation = () => client.issueCard("tpl_1", ${JSON.stringify(signUp)}, { userId: 1 });`);
  expect(functions).toContain("packages/issuing-client/src/send.ts send");
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(9);
  expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(60);
});
