/** The doctor's advice for a valid delivery that is not accepted. */
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import express from "express";
import { expect, it } from "vitest";
import { listening, type RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";
import { checkReceiver } from "../../src/doctor/check-receiver.ts";
import { check } from "../doctor/doctor-run.ts";
import { correctSteps, parsePairs, startReceiver } from "../doctor/wrong-receivers.ts";

const options: ReceiverOptions = { secret, handler: () => {}, log: () => {} };

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
    () => behindParser(expressReceiver(options)),
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
      listening(createServer(nodeReceiver({ ...options, handler: () => Promise.reject(new Error("down")) }))),
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
