/** The doctor finds our receivers in good health, and of each wrong one exactly what is wrong with it. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { describe, expect, it, onTestFinished } from "vitest";
import { expressReceiver } from "../../src/adapters/express.ts";
import { fastifyReceiver } from "../../src/adapters/fastify.ts";
import { fetchReceiver } from "../../src/adapters/fetch.ts";
import { koaReceiver } from "../../src/adapters/koa.ts";
import { nodeReceiver } from "../../src/adapters/node.ts";
import { type ExamineOptions, examineReceiver } from "../../src/doctor/examine-receiver.ts";
import { memoryDedupe, type ReceiverOptions } from "../../src/index.ts";
import { listening, type RunningServer } from "../adapter-contract.ts";
import { secret } from "../signed-delivery.ts";
import { receiverWith, right, type Steps } from "../wrong-receivers.ts";

async function examined(starting: Promise<RunningServer>, options: Partial<ExamineOptions> = {}) {
  const { url, close } = await starting;
  onTestFinished(async () => void (await close()));
  const { passed, findings } = await examineReceiver({ url, secret, timeLimitMs: 5_000, ...options });
  const flagged = findings.filter(({ verdict }) => verdict !== "pass");
  return { passed, findings, flagged, named: flagged.map(({ check, verdict }) => `${verdict} ${check}`) };
}

const options: ReceiverOptions = { secret, accept: () => {}, dedupe: memoryDedupe(), answerWithinMs: 1_500 };

describe("in good health:", () => {
  it.each<[string, () => Promise<RunningServer>]>([
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
    ["Koa", async () => listening(createServer(new Koa().use(koaReceiver(options)).callback()))],
    ["a receiver by hand", async () => receiverWith({})],
  ])("%s", async (_name, start) => {
    const { passed, flagged, findings } = await examined(start());
    expect(flagged).toEqual([]);
    expect(passed).toBe(true);
    expect(findings.length).toBeGreaterThan(30);
  });
});

const answered = (response: ServerResponse, status: number): false => {
  response
    .writeHead(status, { connection: "close", ...(status === 308 ? { location: "/elsewhere" } : {}) })
    .end();
  return false;
};

async function firstPiece(request: IncomingMessage): Promise<Buffer> {
  const [chunk = Buffer.alloc(0)] = await Promise.race([once(request, "data"), once(request, "end")]);
  return chunk;
}

/** Keeps nothing, so that the test does not need the memory which such a receiver needs. */
async function everything(request: IncomingMessage): Promise<Buffer> {
  let start = Buffer.alloc(0);
  request.setTimeout(1_000, () => request.destroy());
  for await (const chunk of request) if (start.length < 10_000) start = Buffer.concat([start, chunk]);
  return start;
}

async function patiently(request: IncomingMessage): Promise<Buffer | undefined> {
  const body = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.length < 40 && chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks))).on("error", reject);
    request.on("data", () => chunks.length === 40 && resolve(Buffer.alloc(0)));
  });
  return body.length === 0 && request.headers["transfer-encoding"] !== undefined ? undefined : body;
}

/** The last value of each name, as a plain object of the pairs has it. */
function pairsIn(header: string): { t?: string; v1?: string } {
  return Object.fromEntries(header.split(",").map((pair) => pair.trim().split("=")));
}

function remembered(order: (event: { id: string; createdAt: string }, seen: Set<string>) => boolean) {
  const seen = new Set<string>();
  return (event: { id: string; type: string; createdAt: string }) => (order(event, seen) ? 204 : 409);
}

const jsonAgain = (body: Buffer) => {
  try {
    return JSON.stringify(JSON.parse(body.toString()));
  } catch {
    return body.toString();
  }
};

const wrong: [
  name: string,
  steps: () => Partial<Steps>,
  found: string[],
  options?: Partial<ExamineOptions>,
][] = [
  [
    "believes everybody",
    () => ({ parse: () => ({ t: "0", v1: [] }), isFresh: () => true, matches: () => true }),
    [
      "fail tampered",
      "fail other-secret",
      "fail stale",
      "fail future",
      "fail no-t",
      "fail t-not-a-number",
      "fail two-t",
      "fail no-v1",
      "fail short-v1",
      "fail not-hex",
      "fail long-header",
    ],
  ],
  [
    "takes what has no signature",
    () => ({
      before: (request, response) =>
        request.method === "POST" && request.headers["service-signature"] === undefined
          ? answered(response, 204)
          : right.before(request, response),
    }),
    ["fail missing-signature"],
  ],
  ["never looks at the time", () => ({ isFresh: () => true }), ["fail stale", "fail future"]],
  [
    "has a tolerance of NaN",
    () => ({ isFresh: (t) => !(Math.abs(Date.now() / 1000 - Number(t)) > Number("unset")) }),
    ["fail stale", "fail future"],
  ],
  ["lets the future in", () => ({ isFresh: (t) => Date.now() / 1000 - Number(t) <= 301 }), ["fail future"]],
  [
    "has a tolerance of 5 seconds",
    () => ({ isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 5 }),
    ["warn within-tolerance"],
  ],
  [
    "verifies a body that it made again",
    () => ({ signedText: (t, body) => Buffer.from(`${t}.${jsonAgain(body)}`) }),
    ["fail bytes"],
  ],
  [
    "reads the body as ASCII",
    () => ({ signedText: (t, body) => Buffer.from(`${t}.${body.toString("ascii")}`) }),
    ["fail unicode"],
  ],
  ["reads only the first piece", () => ({ read: firstPiece }), ["fail pieces"]],
  [
    "answers 500 when a comparison throws",
    () => ({
      parse(header) {
        const { t, v1 } = pairsIn(header);
        return header.length < 1024 && header.split("t=").length === 2 && /^\d+$/.test(t ?? "") && v1
          ? { t: t as string, v1: [v1] }
          : undefined;
      },
      matches: (expected, [v1 = ""]) => timingSafeEqual(expected, Buffer.from(v1, "hex")),
      failed: (error) => (error instanceof RangeError ? 500 : 400),
    }),
    ["fail short-v1", "fail not-hex"],
  ],
  [
    "compares the beginning",
    () => ({
      parse: (header) =>
        right.parse(header.replace(/v1=([\da-f]{32})$/, `v1=$1${"-".repeat(0)}${"0".repeat(32)}`)),
      matches: (expected, v1) =>
        v1.some((hex) => expected.toString("hex").startsWith(hex.toLowerCase().replace(/0{32}$/, ""))),
    }),
    ["fail short-v1"],
  ],
  [
    "reads t as far as it is a number",
    () => ({ parse: (header) => right.parse(header.replace(/t=(\d+)[a-z]+/, "t=$1")) }),
    ["fail t-not-a-number"],
  ],
  [
    "takes the freshness of one t and the signature of another",
    () => ({
      parse(header) {
        const [first, ...rest] = header.split(",");
        const isDouble = rest[0]?.startsWith("t=");
        const parsed = right.parse(isDouble ? rest.join(",") : header);
        return parsed && isDouble ? { ...parsed, t: `${first?.slice(2)}/${parsed.t}` } : parsed;
      },
      isFresh: (t) => right.isFresh(t.split("/")[0] ?? ""),
      signedText: (t, body) => right.signedText(t.split("/").at(-1) ?? "", body),
    }),
    ["fail two-t"],
  ],
  [
    "knows one v1 only",
    () => ({ matches: (expected, [first = ""]) => right.matches(expected, [first]) }),
    ["warn two-signatures"],
  ],
  [
    "compares letters",
    () => ({ matches: (expected, v1) => v1.includes(expected.toString("hex")) }),
    ["warn upper-case-hex"],
  ],
  [
    "insists on two pairs",
    () => ({ parse: (header) => (/^t=\d+,(v1=\w+,?)+$/.test(header) ? right.parse(header) : undefined) }),
    ["warn more-pairs"],
  ],
  [
    "answers 409 to duplicates",
    () => ({ take: remembered(({ id }, seen) => !seen.has(id) && seen.add(id) !== undefined) }),
    ["fail duplicate"],
  ],
  [
    "answers 409 to what comes late",
    () => ({
      take: ({ type, createdAt }) =>
        type === "balance.changed" && Date.parse(createdAt) < Date.now() - 30_000 ? 409 : 204,
    }),
    ["fail out-of-order"],
  ],
  [
    "answers 500 to unknown types",
    () => ({ take: ({ type }) => ([undefined, "ping", "balance.changed"].includes(type) ? 204 : 500) }),
    ["fail unknown-type"],
  ],
  [
    "looks handlers up in an object",
    () => ({ take: ({ type }) => (type in {} ? 500 : 204) }),
    ["fail unknown-type"],
  ],
  [
    "refuses members that it does not know",
    () => ({ take: (event) => ("shop" in event ? 400 : 204) }),
    ["fail extra-members"],
  ],
  [
    "refuses data that it does not expect",
    () => ({
      take: (event) => ("data" in event && event.data !== null && typeof event.data === "object" ? 204 : 400),
    }),
    ["warn ping-data"],
  ],
  [
    "insists on the content type",
    () => ({
      before: (request, response) =>
        /;/.test(request.headers["content-type"] ?? "")
          ? answered(response, 415)
          : right.before(request, response),
    }),
    ["warn content-type"],
  ],
  ["answers 500 to what is no event", () => ({ failed: () => 500 }), ["fail signed-nonsense"]],
  [
    "looks the unsigned type up in an object",
    () => ({
      before: (request, response) =>
        String(request.headers["service-event"]) in {}
          ? answered(response, 500)
          : right.before(request, response),
    }),
    ["fail unknown-type", "fail contradicting-header"],
  ],
  ["reads without a limit", () => ({ read: everything }), ["warn oversized"]],
  ["waits for a body for ever", () => ({ read: patiently }), ["warn stalled"], { timeLimitMs: 1_000 }],
  [
    "answers GET",
    () => ({
      before: (request, response) =>
        request.method === "GET" ? answered(response, 200) : right.before(request, response),
    }),
    ["warn get"],
  ],
  [
    "works before it answers",
    () => {
      let isFirst = true;
      return {
        async read(request) {
          if (isFirst) await new Promise((resolve) => setTimeout(resolve, 600));
          isFirst = false;
          return right.read(request);
        },
      };
    },
    ["warn answer-time"],
    { timeLimitMs: 1_000 },
  ],
  [
    "has a clock that is two minutes slow",
    () => ({
      answer: (_request, response, status) =>
        void response
          .writeHead(status, { connection: "close", date: new Date(Date.now() - 120_000).toUTCString() })
          .end(),
    }),
    ["warn clock"],
  ],
  [
    "falls over letters of two bytes",
    () => {
      let isDown = false;
      return {
        before(request, response) {
          isDown ||= /\u00e9/.test(String(request.headers["service-signature"]));
          if (isDown) request.socket.destroy();
          return !isDown && right.before(request, response);
        },
      };
    },
    [
      "fail not-hex",
      "fail signed-nonsense",
      "fail contradicting-header",
      "fail long-header",
      "warn get",
      "fail still-standing",
    ],
  ],
  ["redirects", () => ({ before: (_request, response) => answered(response, 308) }), ["fail valid"]],
  ["knows another secret", () => ({ matches: () => false }), ["fail valid"]],
  ["is broken", () => ({ take: () => 500 }), ["fail valid"]],
];

describe("of a receiver that", () => {
  it.each(wrong)("%s, finds just that", async (_name, steps, found, limits) => {
    const { passed, named, flagged } = await examined(receiverWith(steps()), limits);
    expect(named).toEqual(found);
    expect(passed).toBe(!found.some((finding) => finding.startsWith("fail")));
    for (const { advice, clause } of flagged)
      expect([advice, clause]).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/^[569]/)]);
  });
});

describe("the advice about a genuine delivery that is not accepted", () => {
  const status = (code: number) =>
    listening(
      createServer(
        (request, response) => void request.resume().on("end", () => response.writeHead(code).end()),
      ),
    );
  const behindParser = (receiver: express.RequestHandler) =>
    listening(createServer(express().use(express.json()).post("/webhooks", receiver)));
  const quiet = { ...options, log: () => {} };

  it.each<[string, () => Promise<RunningServer>, RegExp]>([
    [
      "our receiver behind express.json(): 500",
      () => behindParser(expressReceiver(quiet)),
      /^A parser reads the body/,
    ],
    [
      "a receiver by hand that verifies JSON.stringify(request.body): 401",
      () =>
        behindParser(async (request, response) => {
          const body =
            request.body === undefined
              ? await right.read(request)
              : Buffer.from(JSON.stringify(request.body, null, 1));
          const { t = "", v1 = "" } = pairsIn(String(request.headers["service-signature"]));
          const expected = createHmac("sha256", secret)
            .update(right.signedText(t, body as Buffer))
            .digest("hex");
          response.sendStatus(expected === v1 ? 204 : 401);
        }),
      /^A parser reads the body/,
    ],
    ["another secret: 401", () => receiverWith({ matches: () => false }), /secret of this endpoint.*parser/],
    [
      "a receiver that fails: 500",
      () => receiverWith({ take: () => 500 }),
      /read its log.*parser such as express\.json\(\)/,
    ],
    [
      "an Express without the route: 404",
      () => listening(createServer(express())),
      /check the path.*accept, process or inbox/,
    ],
    ["a path without POST: 405", () => status(405), /mount the receiver for POST/],
    ["CSRF protection: 403", () => status(403), /CSRF/],
    ["CSRF protection: 419", () => status(419), /CSRF/],
    ["a rate limiter: 429", () => status(429), /rate limiter/],
    ["a proxy without a receiver: 502", () => status(502), /proxy reached no receiver/],
    [
      "accept that fails: 503",
      () =>
        listening(createServer(nodeReceiver({ ...quiet, accept: () => Promise.reject(new Error("down")) }))),
      /accept or the inbox/,
    ],
    ["a status that means nothing: 418", () => status(418), /read the receiver's log/],
    ["a redirect", () => status(302), /follows no redirect/],
  ])("fits what was seen: %s", async (_name, start, advice) => {
    const { flagged } = await examined(start());
    expect(flagged).toMatchObject([
      { check: "valid", verdict: "fail", advice: expect.stringMatching(advice) },
    ]);
  });

  it("fits a receiver that is not there, and one that never responds", async () => {
    const { url, close } = await listening(createServer());
    await close();
    const gone = await examineReceiver({ url, secret });
    expect(gone.findings[0]?.advice).toMatch(/Nothing listens there/);
    const silent = await examined(listening(createServer(() => {})), { timeLimitMs: 100 });
    expect(silent.flagged[0]?.advice).toMatch(/Respond first and work afterwards/);
  });
});

describe("an examination", () => {
  it("asks nobody but the address it was given", async () => {
    const asked: string[] = [];
    const elsewhere = await listening(
      createServer((request, response) => {
        asked.push(request.url ?? "");
        response.writeHead(204).end();
      }),
    );
    onTestFinished(async () => void (await elsewhere.close()));
    const { findings } = await examined(
      listening(
        createServer((_request, response) => response.writeHead(307, { location: elsewhere.url }).end()),
      ),
    );
    expect(findings).toMatchObject([
      { check: "valid", verdict: "fail", observed: expect.stringContaining("redirects") },
    ]);
    expect(asked).toEqual([]);
  });

  it("ends in time when nobody answers, and when nobody listens", async () => {
    const silent = await examined(listening(createServer(() => {})), { timeLimitMs: 100 });
    expect(silent.flagged).toMatchObject([
      { check: "valid", observed: expect.stringMatching(/^no answer in \d+ ms$/) },
    ]);
    const { url, close } = await listening(createServer());
    await close();
    const { findings } = await examineReceiver({ url, secret });
    expect(findings).toMatchObject([{ check: "valid", observed: "hung up without an answer" }]);
  });

  it("reports what the deadline left out", async () => {
    const { passed, flagged } = await examined(receiverWith({}), { deadlineMs: 0 });
    expect([passed, flagged.length > 25]).toEqual([false, true]);
    expect(new Set(flagged.map(({ observed }) => observed))).toEqual(new Set(["not examined"]));
  });

  it("stops when it is told to", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const examining = examined(receiverWith({}), {
      signal: controller.signal,
      onFinding: ({ check }) => check === "bytes" && controller.abort(reason),
    });
    await expect(examining).rejects.toBe(reason);
  });

  it("prints nothing and holds no secret", async () => {
    const { findings } = await examined(receiverWith({ matches: () => false }));
    expect(JSON.stringify(findings)).not.toContain(secret);
  });

  it.each([
    ["http://shop.example/webhooks", /https/],
    ["ftp://127.0.0.1/", /https/],
    ["https://user:pass@shop.example/", /user name/],
    ["not an address", /Invalid URL/],
  ])("refuses the address %s", async (url, message) => {
    await expect(examineReceiver({ url, secret })).rejects.toThrow(message);
  });

  it("refuses an empty secret", async () => {
    await expect(examineReceiver({ url: "http://127.0.0.1/", secret: "" })).rejects.toThrow(
      /secret is missing or empty/,
    );
  });
});
