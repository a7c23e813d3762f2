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
import { describe, expect, it, onTestFinished } from "vitest";
import { listening, type RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";
import { type CheckReceiverOptions, checkReceiver } from "../../src/doctor/check-receiver.ts";
import { correctSteps, parsePairs, startReceiver, wrongReceivers } from "../doctor/wrong-receivers.ts";

const receiverOptions: ReceiverOptions = { secret, handler: () => {}, log: () => {}, timeoutMs: 500 };

/** @param onFinished that of the test context where tests run concurrently. */
async function check(
  starting: Promise<RunningServer>,
  options: Partial<CheckReceiverOptions> = {},
  onFinished: (close: () => Promise<void>) => void = onTestFinished,
) {
  const { url, close } = await starting;
  onFinished(async () => void (await close()));
  const report = await checkReceiver({ url, secret, timeoutMs: 5_000, ...options });
  return { ...report, flagged: report.findings.filter(({ verdict }) => verdict !== "pass") };
}

/** The address of a server that was closed. */
async function findClosedAddress(): Promise<string> {
  const { url, close } = await listening(createServer());
  await close();
  return url;
}

// Concurrent: each run waits most of its time for the receiver's timeout of a body that does not end.
describe.concurrent("the doctor", () => {
  const options = { ...receiverOptions, dedupe: memoryDedupe() };
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
    expect([passed, flagged]).toEqual([true, []]);
    expect(findings.length).toBeGreaterThan(9);
  });

  it.for(wrongReceivers)(
    "reports a receiver that %s, and nothing else",
    async ([_mistake, createSteps, expected, limits], { expect, onTestFinished }) => {
      const { passed, flagged } = await check(startReceiver(createSteps()), limits, onTestFinished);
      expect(flagged.map(({ check, verdict, sent }) => `${verdict} ${check}: ${sent}`)).toEqual(expected);
      expect(passed).toBe(!expected.some((finding) => finding.startsWith("fail")));
      for (const { advice, clause } of flagged)
        expect([advice, clause]).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/^[569]/)]);
    },
  );
});

it("sends nothing to an address that the receiver redirects to", async () => {
  let requests = 0;
  const target = await listening(
    createServer((_request, response) => {
      requests += 1;
      response.writeHead(204).end();
    }),
  );
  const { findings } = await check(
    listening(createServer((_request, response) => response.writeHead(307, { location: target.url }).end())),
  );
  await target.close();
  expect(findings).toMatchObject([
    { check: "valid", verdict: "fail", observed: expect.stringMatching(/redirects/) },
  ]);
  expect(requests).toBe(0);
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

it.each<[Partial<CheckReceiverOptions>, RegExp]>([
  [{ url: "http://shop.example/webhooks" }, /https/],
  [{ url: "ftp://127.0.0.1/" }, /https/],
  [{ url: "https://user:pass@shop.example/" }, /user name/],
  [{ url: "not an address" }, /Invalid URL/],
  [{ secret: "" }, /^secret is an empty string/],
  [{ toleranceSeconds: Number.NaN }, /^toleranceSeconds must be/],
])("rejects %j before it sends anything", async (options, message) => {
  const checking = checkReceiver({ url: "https://shop.example/", secret, ...options });
  await expect(checking).rejects.toThrow(TypeError);
  await expect(checking).rejects.toThrow(message);
});

const respondAlways = (status: number) =>
  listening(
    createServer(
      (request, response) => void request.resume().on("end", () => response.writeHead(status).end()),
    ),
  );
const behindParser = (receiver: express.RequestHandler) =>
  listening(createServer(express().use(express.json()).post("/webhooks", receiver)));

describe("a receiver that does not accept a valid delivery", () => {
  it.each<[string, () => Promise<RunningServer>, RegExp]>([
    [
      "our receiver after express.json(): 500",
      () => behindParser(expressReceiver(receiverOptions)),
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
    [
      "handler that fails: 503",
      () =>
        listening(
          createServer(
            nodeReceiver({ ...receiverOptions, handler: () => Promise.reject(new Error("down")) }),
          ),
        ),
      /handler or the inbox/,
    ],
    ["a path without POST: 405", () => respondAlways(405), /mount the receiver for POST/],
    ["CSRF protection: 403", () => respondAlways(403), /CSRF/],
    ["CSRF protection: 419", () => respondAlways(419), /CSRF/],
    ["a rate limiter: 429", () => respondAlways(429), /rate limiter/],
    ["a proxy without a receiver: 502", () => respondAlways(502), /proxy did not reach the receiver/],
    ["an unexpected status: 418", () => respondAlways(418), /read the receiver's log/],
    ["a redirect", () => respondAlways(302), /does not follow redirects/],
    [
      "no server",
      async () => ({ url: await findClosedAddress(), close: async () => {} }),
      /^Nothing listens there/,
    ],
    [
      "a server that never responds",
      () => listening(createServer(() => {})),
      /^Respond first and work afterwards/,
    ],
  ])("is reported with what to change and without the secret: %s", async (_name, start, advice) => {
    const { passed, findings } = await check(start(), { timeoutMs: 500 });
    expect(findings).toMatchObject([
      { check: "valid", verdict: "fail", advice: expect.stringMatching(advice) },
    ]);
    expect(passed).toBe(false);
    expect(findings[0]?.observed).toMatch(
      /^responded \d{3}(,|$)|^did not respond in \d+ ms$|^closed the connection without a response$/,
    );
    expect(JSON.stringify(findings)).not.toContain(secret);
  });
});
