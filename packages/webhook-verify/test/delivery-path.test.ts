/** How much of our code runs for one warm delivery, by V8 coverage: a reader has to follow as many files and functions. */

import { createServer, type RequestListener } from "node:http";
import { Session } from "node:inspector/promises";
import express from "express";
import { expect, it, onTestFinished } from "vitest";
import { expressReceiver } from "../src/adapters/express.ts";
import { fetchReceiver } from "../src/adapters/fetch.ts";
import { nodeReceiver } from "../src/adapters/node.ts";
import { onEvents, type ReceiverOptions } from "../src/index.ts";
import { listening, send } from "./adapter-contract.ts";
import { balanceChanged, secret, signedDelivery } from "./signed-delivery.ts";

const isOurs = (url: string) => /\/(packages\/[\w-]+\/src|internal|openapi)\//.test(url);

/** Vitest adds a function to a module for each of its exports. */
const isExport = /^\(\) => \{ try \{ return /;

/** Our functions that run meanwhile, as `file:function`; those without a name by their place. */
async function listFunctions(run: () => Promise<void>): Promise<string[]> {
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post("Debugger.enable");
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await run();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const lists = result
    .filter(({ url }) => isOurs(url))
    .map(async ({ url, scriptId, functions }) => {
      const { scriptSource } = await session.post("Debugger.getScriptSource", { scriptId });
      return functions.flatMap(({ functionName, ranges: [range] }) => {
        if (range === undefined || range.count === 0) return [];
        if (isExport.test(scriptSource.slice(range.startOffset))) return [];
        return `${url.replace(/^.*\/(?=[\w-]+\/src\/|internal\/|openapi\/)/, "")}:${functionName || range.startOffset}`;
      });
    });
  return (await Promise.all(lists)).flat();
}

const options: ReceiverOptions = {
  secret,
  handler: onEvents({ "balance.changed": () => {}, otherTypes: () => {} }),
};

async function overHttp(listener: RequestListener) {
  const server = await listening(createServer(listener));
  onTestFinished(async () => void (await server.close()));
  return async (delivery: ReturnType<typeof signedDelivery>) => (await send(server.url, delivery)).status;
}

it.each<[string, () => Promise<(delivery: ReturnType<typeof signedDelivery>) => Promise<number>>]>([
  ["node:http", () => overHttp(nodeReceiver(options))],
  ["Express", () => overHttp(express().post("/webhooks", expressReceiver(options)))],
  [
    "a fetch handler",
    async () => {
      const receive = fetchReceiver(options);
      return async ({ body, headers }) =>
        (await receive(new Request("https://shop.test/", { method: "POST", body, headers }))).status;
    },
  ],
])("runs at most 45 functions of 10 files for a delivery in %s", async (name, start) => {
  const deliver = await start();
  for (let count = 0; count < 3; count++) expect(await deliver(signedDelivery(balanceChanged()))).toBe(204);
  const delivery = signedDelivery(balanceChanged());
  const functions = await listFunctions(async () => expect(await deliver(delivery)).toBe(204));
  const files = new Set(functions.map((each) => each.split(":")[0]));
  process.stdout.write(`${name}: ${functions.length} functions of ${files.size} files\n`);
  expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(45);
  expect(files.size, [...files].join("\n")).toBeLessThanOrEqual(10);
  expect(files.size).toBeGreaterThan(5);
});
