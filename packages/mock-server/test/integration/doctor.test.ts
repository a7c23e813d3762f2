/** The doctor reports nothing for our receivers, exactly the mistake of each wrong receiver, and advice for a rejected delivery. */

import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { memoryDedupe, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import express from "express";
import fastify from "fastify";
import { describe, expect, it } from "vitest";
import { listening, type RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";
import { checkReceiver } from "../../src/doctor/check-receiver.ts";
import { check } from "../doctor/doctor-run.ts";
import { correctSteps, parsePairs, startReceiver, wrongReceivers } from "../doctor/wrong-receivers.ts";

const options: ReceiverOptions = { secret, handler: () => {}, dedupe: memoryDedupe(), timeoutMs: 1_500 };

// Concurrent: each run waits most of its time for the receiver's timeout of a stalled body.
describe.concurrent("the doctor", () => {
  it.for<[string, () => Promise<RunningServer>]>([
    ["node:http", async () => listening(createServer(nodeReceiver(options)))],
    ["Express", async () => listening(createServer(express().all("/webhooks", expressReceiver(options))))],
    ["fetch", async () => listening(createServer(getRequestListener(fetchReceiver(options))))],
    [
      "Fastify",
      async () => {
        const app = fastify();
        await app.register(fastifyReceiver, { path: "/webhooks", ...options });
        const address = await app.listen({ port: 0, host: "127.0.0.1" });
        return { url: `${address}/webhooks`, close: () => app.close() };
      },
    ],
    ["the hand-written example", async () => startReceiver({})],
  ])("passes the receiver of %s", async ([_name, start], { expect, onTestFinished }) => {
    const { passed, flagged, findings } = await check(start(), {}, onTestFinished);
    expect(flagged).toEqual([]);
    expect(passed).toBe(true);
    expect(findings.length).toBeGreaterThan(30);
  });

  it.for(wrongReceivers)(
    "reports a receiver that %s, and nothing else",
    async ([_mistake, createSteps, expected, limits], { expect, onTestFinished }) => {
      const { passed, names, flagged } = await check(startReceiver(createSteps()), limits, onTestFinished);
      expect(names).toEqual(expected);
      expect(passed).toBe(!expected.some((finding) => finding.startsWith("fail")));
      for (const { advice, clause } of flagged)
        expect([advice, clause]).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/^[569]/)]);
    },
  );
});

describe("the doctor", () => {
  it("reports one finding for a receiver that responds 204 to everything", async () => {
    const { passed, names, findings } = await check(
      listening(
        createServer((request, response) => request.resume().on("end", () => response.writeHead(204).end())),
      ),
    );
    expect(passed).toBe(false);
    expect(names.filter((name) => name.startsWith("fail"))).toEqual(["fail tampered"]);
    expect(findings.find(({ check: name }) => name === "tampered")).toMatchObject({
      observed: expect.stringContaining("does not verify signatures"),
      advice: expect.stringContaining("were not run"),
    });
  });

  it("sends nothing to an address that the receiver redirects to", async () => {
    const requests: string[] = [];
    const target = await listening(
      createServer((request, response) => {
        requests.push(request.url ?? "");
        response.writeHead(204).end();
      }),
    );
    const { findings } = await check(
      listening(
        createServer((_request, response) => response.writeHead(307, { location: target.url }).end()),
      ),
    );
    await target.close();
    expect(findings).toMatchObject([
      { check: "valid", verdict: "fail", observed: expect.stringContaining("redirects") },
    ]);
    expect(requests).toEqual([]);
  });

  it("ends in time when the receiver does not respond, and when nothing listens", async () => {
    const silent = await check(listening(createServer(() => {})), { timeoutMs: 100 });
    expect(silent.flagged).toMatchObject([
      { check: "valid", observed: expect.stringMatching(/^did not respond in \d+ ms$/) },
    ]);
    const { url, close } = await listening(createServer());
    await close();
    const { findings } = await checkReceiver({ url, secret });
    expect(findings).toMatchObject([
      { check: "valid", observed: "closed the connection without a response" },
    ]);
  });

  it("reports the checks that the deadline skipped", async () => {
    const { passed, flagged } = await check(startReceiver({}), { deadlineMs: 0 });
    expect([passed, flagged.length > 25]).toEqual([false, true]);
    expect(new Set(flagged.map(({ observed }) => observed))).toEqual(new Set(["not checked"]));
  });

  it("rejects with the reason of the signal when it is aborted", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const running = check(startReceiver({}), {
      signal: controller.signal,
      onFinding: ({ check: name }) => name === "bytes" && controller.abort(reason),
    });
    await expect(running).rejects.toBe(reason);
  });

  it("reports findings without the secret", async () => {
    const { findings } = await check(startReceiver({ matches: () => false }));
    expect(JSON.stringify(findings)).not.toContain(secret);
  });

  it.each([
    ["http://shop.example/webhooks", /https/],
    ["ftp://127.0.0.1/", /https/],
    ["https://user:pass@shop.example/", /user name/],
    ["not an address", /Invalid URL/],
  ])("rejects the address %s", async (url, message) => {
    await expect(checkReceiver({ url, secret })).rejects.toThrow(message);
  });

  it("rejects an empty secret", async () => {
    await expect(checkReceiver({ url: "http://127.0.0.1/", secret: "" })).rejects.toThrow(
      /secret is an empty string/,
    );
  });
});

it.each([
  [
    "a clock that returns no milliseconds",
    { testing: { now: () => "now" as unknown as number } },
    /^now must return milliseconds/,
  ],
  ["an empty secret", { secret: "" }, /^secret is an empty string/],
  ["a tolerance that disables the check", { toleranceSeconds: Number.NaN }, /^toleranceSeconds must be/],
])("rejects %s before it sends anything", async (_name, options, message) => {
  const checking = checkReceiver({ url: "https://shop.example/", secret, ...options });
  await expect(checking).rejects.toThrow(TypeError);
  await expect(checking).rejects.toThrow(message);
});

const silentOptions: ReceiverOptions = { secret, handler: () => {}, log: () => {} };

const respondAlways = (status: number) =>
  listening(
    createServer(
      (request, response) => void request.resume().on("end", () => response.writeHead(status).end()),
    ),
  );
const behindParser = (receiver: express.RequestHandler) =>
  listening(createServer(express().use(express.json()).post("/webhooks", receiver)));

it.each<[string, () => Promise<RunningServer>, RegExp]>([
  [
    "our receiver after express.json(): 500",
    () => behindParser(expressReceiver(silentOptions)),
    /^A parser reads the body/,
  ],
  [
    "a hand-written receiver that verifies JSON.stringify(request.body): 401",
    () =>
      behindParser(async (request, response) => {
        const body =
          request.body === undefined
            ? await correctSteps.read(request)
            : Buffer.from(JSON.stringify(request.body, null, 1));
        const { t = "", v1 = "" } = parsePairs(String(request.headers["service-signature"]));
        const expected = createHmac("sha256", secret)
          .update(correctSteps.signedText(t, body as Buffer))
          .digest("hex");
        response.sendStatus(expected === v1 ? 204 : 401);
      }),
    /^A parser reads the body/,
  ],
  ["another secret: 401", () => startReceiver({ matches: () => false }), /secret of this endpoint.*parser/],
  [
    "a receiver that fails: 500",
    () => startReceiver({ accept: () => 500 }),
    /read its log.*parser such as express\.json\(\)/,
  ],
  [
    "an Express app without the route: 404",
    () => listening(createServer(express())),
    /check the path.*handler, afterResponse or inbox/,
  ],
  ["a path without POST: 405", () => respondAlways(405), /mount the receiver for POST/],
  ["CSRF protection: 403", () => respondAlways(403), /CSRF/],
  ["CSRF protection: 419", () => respondAlways(419), /CSRF/],
  ["a rate limiter: 429", () => respondAlways(429), /rate limiter/],
  ["a proxy without a receiver: 502", () => respondAlways(502), /proxy did not reach the receiver/],
  [
    "handler that fails: 503",
    () =>
      listening(
        createServer(nodeReceiver({ ...silentOptions, handler: () => Promise.reject(new Error("down")) })),
      ),
    /handler or the inbox/,
  ],
  ["an unexpected status: 418", () => respondAlways(418), /read the receiver's log/],
  ["a redirect", () => respondAlways(302), /does not follow redirects/],
])("names what to change for %s", async (_name, start, advice) => {
  const { flagged } = await check(start());
  expect(flagged).toMatchObject([{ check: "valid", verdict: "fail", advice: expect.stringMatching(advice) }]);
});

it("names what to change for a receiver that does not run, and for one that never responds", async () => {
  const { url, close } = await listening(createServer());
  await close();
  const { findings } = await checkReceiver({ url, secret });
  expect(findings[0]?.advice).toMatch(/Nothing listens there/);
  const silent = await check(listening(createServer(() => {})), { timeoutMs: 100 });
  expect(silent.flagged[0]?.advice).toMatch(/Respond first and work afterwards/);
});
