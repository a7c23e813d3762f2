/**
 * The receiver check reports nothing for our receivers, exactly the mistake of each wrong receiver,
 * and advice for a rejected delivery.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { getRequestListener } from "@hono/node-server";
import { type RunningServer, startServer } from "@loyalty-cards/testing/http";
import { secret } from "@loyalty-cards/testing/signed-delivery";
import { memoryDedupe, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import express from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type CheckReceiverOptions,
  checkReceiver,
} from "../../src/receiver-check/check-receiver.ts";

interface Steps {
  read(request: IncomingMessage): Promise<Buffer | undefined>;
  /** Undefined when the header is malformed. */
  parse(header: string): { t: string; v1: string[] } | undefined;
  isFresh(t: string): boolean;
  signedText(t: string, body: Buffer): Buffer;
  matches(expected: Buffer, v1: string[]): boolean;
  accept(event: { id: string; type: string; createdAt: string }): number;
  /** The status when a step throws. */
  failed(error: unknown): number;
  before(request: IncomingMessage, response: ServerResponse): boolean;
}

const maxBytes = 1024 * 1024;

const correctSteps: Steps = {
  before(request, response) {
    if (request.method === "POST") return true;
    response.writeHead(405).end();
    return false;
  },
  async read(request) {
    const chunks: Buffer[] = [];
    let length = 0;
    request.setTimeout(400, () => request.destroy());
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length > maxBytes) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  },
  parse(header) {
    if (header.length > 1024) return undefined;
    const pairs = header.split(",").map((pair) => pair.trim().split("=") as [string, string?]);
    const getValues = (name: string) =>
      pairs.filter(([key]) => key === name).map(([, value]) => value ?? "");
    const [t, ...moreT] = getValues("t");
    const v1 = getValues("v1");
    const isValid =
      moreT.length === 0 &&
      /^\d{1,12}$/.test(t ?? "") &&
      v1.every((hex) => /^[\da-f]{64}$/i.test(hex));
    return t !== undefined && isValid && v1.length > 0 ? { t, v1 } : undefined;
  },
  isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 301,
  signedText: (t, body) => Buffer.concat([Buffer.from(`${t}.`), body]),
  matches: (expected, v1) => v1.some((hex) => timingSafeEqual(expected, Buffer.from(hex, "hex"))),
  accept: () => 204,
  failed: () => 400,
};

async function getStatus(steps: Steps, request: IncomingMessage): Promise<number> {
  const body = await steps.read(request);
  if (body === undefined) return 413;
  const header = request.headers["service-signature"];
  const parsed = typeof header === "string" ? steps.parse(header) : undefined;
  if (parsed === undefined || !steps.isFresh(parsed.t)) return 401;
  const expected = createHmac("sha256", secret).update(steps.signedText(parsed.t, body)).digest();
  if (!steps.matches(expected, parsed.v1)) return 401;
  return steps.accept(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
}

/** Starts the receiver with some of its steps replaced. */
function startReceiver(replaced: Partial<Steps>): Promise<RunningServer> {
  const steps = { ...correctSteps, ...replaced };
  const server = createServer((request, response) => {
    if (!steps.before(request, response)) return;
    getStatus(steps, request)
      .catch(steps.failed)
      .then((status) => respondWith(response, status));
  });
  return startServer(server);
}

const respondWith = (response: ServerResponse, status: number): false => {
  response.writeHead(status, { connection: "close" }).end();
  return false;
};

/** Responds with this status, before the body is read, when the condition is true. */
const respondsWhen = (
  status: number,
  condition: (headers: IncomingHttpHeaders, method?: string) => boolean,
): Partial<Steps> => ({
  before: (request, response) =>
    condition(request.headers, request.method)
      ? respondWith(response, status)
      : correctSteps.before(request, response),
});

/** The last value of each name. */
function parsePairs(header: string): { t?: string; v1?: string } {
  return Object.fromEntries(header.split(",").map((pair) => pair.trim().split("=")));
}

const reserialize = (body: Buffer) => {
  try {
    return JSON.stringify(JSON.parse(body.toString()));
  } catch {
    return body.toString();
  }
};

/**
 * Each receiver with one mistake, and exactly what must be reported: the check, and the
 * delivery with the wrong response.
 */
const wrongReceivers: [
  mistake: string,
  createSteps: () => Partial<Steps>,
  findings: string[],
  options?: { timeoutMs: number },
][] = [
  [
    "responds 204 to everything",
    () => ({
      before(request, response) {
        request.resume().on("end", () => respondWith(response, 204));
        return false;
      },
    }),
    [
      "fail forged: a body in which one letter was changed after signing",
      "warn get: a GET request",
    ],
  ],
  [
    "accepts a delivery without a signature",
    () =>
      respondsWhen(204, (headers, method) => method === "POST" && !headers["service-signature"]),
    ["fail missing-signature: a delivery without a signature"],
  ],
  [
    "has a tolerance of NaN",
    () => ({ isFresh: (t) => !(Math.abs(Date.now() / 1000 - Number(t)) > Number("unset")) }),
    ["fail wrong-time: a delivery that is one minute older than the tolerance"],
  ],
  [
    "accepts signatures from the future",
    () => ({ isFresh: (t) => Date.now() / 1000 - Number(t) <= 301 }),
    ["fail wrong-time: a delivery that is one minute too far in the future"],
  ],
  [
    "verifies a body that was parsed and serialized again",
    () => ({ signedText: (t, body) => Buffer.from(`${t}.${reserialize(body)}`) }),
    ["fail bytes: a body with spaces, escapes, the number 12e1 and a final line break"],
  ],
  [
    "reads the body as ASCII",
    () => ({ signedText: (t, body) => Buffer.from(`${t}.${body.toString("ascii")}`) }),
    ["fail bytes: letters of two, three and four bytes"],
  ],
  [
    "responds 500 when a comparison throws",
    () => ({
      parse(header) {
        const { t, v1 } = parsePairs(header);
        return header.length < 1024 &&
          header.split("t=").length === 2 &&
          /^\d+$/.test(t ?? "") &&
          v1
          ? { t: t as string, v1: [v1] }
          : undefined;
      },
      matches: (expected, [v1 = ""]) => timingSafeEqual(expected, Buffer.from(v1, "hex")),
      failed: (error) => (error instanceof RangeError ? 500 : 400),
    }),
    ["fail malformed-signature: the first half of a valid signature"],
  ],
  [
    "parses t with parseInt",
    () => ({ parse: (header) => correctSteps.parse(header.replace(/t=(\d+)[a-z]+/, "t=$1")) }),
    ["fail malformed-signature: a t of digits followed by letters"],
  ],
  [
    "responds 409 to duplicates",
    () => {
      const ids = new Set<string>();
      return { accept: ({ id }) => (ids.size === ids.add(id).size ? 409 : 204) };
    },
    ["fail duplicate-or-late: the same event again"],
  ],
  [
    "responds 409 to late events",
    () => ({
      accept: ({ type, createdAt }) =>
        type === "balance.changed" && Date.parse(createdAt) < Date.now() - 30_000 ? 409 : 204,
    }),
    ["fail duplicate-or-late: a balance that is a minute older than the one before"],
  ],
  [
    "responds 500 to unknown types",
    () => ({
      accept: ({ type }) => ([undefined, "ping", "balance.changed"].includes(type) ? 204 : 500),
    }),
    ["fail unknown: an event type that does not exist yet"],
  ],
  [
    "looks up handlers in an object",
    () => ({ accept: ({ type }) => (type in {} ? 500 : 204) }),
    ["fail unknown: an event type that is a name of Object.prototype"],
  ],
  [
    "rejects unknown properties",
    () => ({ accept: (event) => ("shop" in event ? 400 : 204) }),
    ["fail unknown: an event with unknown members"],
  ],
  [
    "responds 500 to a body that is not an event",
    () => ({ failed: () => 500 }),
    ["fail server-error: a signed body that is empty"],
  ],
  [
    "works before it responds",
    () => {
      let isFirst = true;
      return {
        async read(request) {
          if (isFirst) await new Promise((resolve) => setTimeout(resolve, 1_100));
          isFirst = false;
          return correctSteps.read(request);
        },
      };
    },
    ["warn response-time: a ping as the service signs it"],
    { timeoutMs: 2_000 },
  ],
  [
    "crashes on letters of two bytes",
    () => {
      let isDown = false;
      return {
        before(request, response) {
          isDown ||= /\u00e9/.test(String(request.headers["service-signature"]));
          if (isDown) request.socket.destroy();
          return !isDown && correctSteps.before(request, response);
        },
      };
    },
    [
      "fail malformed-signature: 64 letters of two bytes",
      "fail server-error: a signed body that is empty",
      "warn get: a GET request",
      "fail still-responding: a ping after all other checks",
    ],
  ],
];

const receiverOptions: ReceiverOptions = {
  secret,
  handler: () => {},
  log: () => {},
  timeoutMs: 500,
};

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
  const { url, close } = await startServer(createServer());
  await close();
  return url;
}

// Concurrent: each run waits most of its time for the receiver's timeout of a body that does not
// end.
describe.concurrent("the receiver check", () => {
  const options = { ...receiverOptions, dedupe: memoryDedupe() };
  it.for<[string, () => Promise<RunningServer>]>([
    ["node:http", async () => startServer(createServer(nodeReceiver(options)))],
    [
      "Express",
      async () => startServer(createServer(express().all("/webhooks", expressReceiver(options)))),
    ],
    ["fetch", async () => startServer(createServer(getRequestListener(fetchReceiver(options))))],
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
      expect(flagged.map(({ check, verdict, sent }) => `${verdict} ${check}: ${sent}`)).toEqual(
        expected,
      );
      expect(passed).toBe(!expected.some((finding) => finding.startsWith("fail")));
      for (const { advice, clause } of flagged)
        expect([advice, clause]).toEqual([
          expect.stringMatching(/\.$/),
          expect.stringMatching(/^[569]/),
        ]);
    },
  );
});

it.each([
  [503, "its log says what handler or the inbox threw\\. A proxy .+ 503 too"],
  [502, "^The proxy did not reach the receiver: [^.]+"],
  [500, "^The receiver failed: read its log\\. If it fails for every delivery, .+"],
  [504, "^Respond 2xx to a valid delivery: read the receiver's log, [^.]+"],
])(
  "names what a %i means when a later delivery fails, and then what the check needs",
  async (status, meaning) => {
    const { flagged } = await check(
      startReceiver({ accept: ({ type }) => (type === "ping" ? 204 : status) }),
    );
    const start = `${meaning}\\. Respond 2xx to`;
    expect(flagged).toMatchObject([
      {
        sent: "a balance",
        advice: expect.stringMatching(`${start} an event that you have already`),
      },
      { check: "unknown", advice: expect.stringMatching(`${start} unknown types`) },
    ]);
  },
);

it("sends nothing to an address that the receiver redirects to", async () => {
  let requests = 0;
  const target = await startServer(
    createServer((_request, response) => {
      requests += 1;
      response.writeHead(204).end();
    }),
  );
  const { findings } = await check(
    startServer(
      createServer((_request, response) => response.writeHead(307, { location: target.url }).end()),
    ),
  );
  await target.close();
  expect(findings).toMatchObject([
    { check: "valid", verdict: "fail", observed: expect.stringMatching(/redirects/) },
  ]);
  expect(requests).toBe(0);
});

it("names the reason when a certificate is not trusted", async () => {
  const pem = readFileSync(new URL("../../../../testing/localhost.pem", import.meta.url));
  const start = async () => {
    const { url, close } = await startServer(createTlsServer({ key: pem, cert: pem }));
    return { url: url.replace("http:", "https:"), close };
  };
  const { findings } = await check(start());
  expect(findings).toMatchObject([
    {
      observed: "did not respond: DEPTH_ZERO_SELF_SIGNED_CERT",
      advice: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
    },
  ]);
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

it.each(["https://shop.example/", new URL("https://shop.example/"), undefined])(
  "takes one object, and not %s",
  async (url) => {
    const check = checkReceiver as (...args: unknown[]) => Promise<unknown>;
    const usage = "checkReceiver takes one object with a url: checkReceiver({ url, secret }).";
    await expect(check(url, secret)).rejects.toThrow(usage);
  },
);

const respondAlways = (status: number) =>
  startServer(
    createServer(
      (request, response) =>
        void request.resume().on("end", () => response.writeHead(status).end()),
    ),
  );
const behindParser = (receiver: express.RequestHandler) =>
  startServer(createServer(express().use(express.json()).post("/webhooks", receiver)));

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
    [
      "another secret: 401",
      () => startReceiver({ matches: () => false }),
      /its log or onOutcome names the reason: another secret than the sender's .*, a clock .* than the tolerance, or a parser/,
    ],
    [
      "a receiver that fails: 500",
      () => startReceiver({ accept: () => 500 }),
      /read its log.*parser such as express\.json\(\)/,
    ],
    [
      "an Express app without the route: 404",
      () => startServer(createServer(express())),
      /check the path.*handler, afterResponse or inbox/,
    ],
    [
      "handler that fails: 503",
      () =>
        startServer(
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
    [
      "a proxy without a receiver: 502",
      () => respondAlways(502),
      /proxy did not reach the receiver/,
    ],
    ["an unexpected status: 418", () => respondAlways(418), /read the receiver's log/],
    ["a redirect", () => respondAlways(302), /^Use the address that it redirects to\. /],
    [
      "no server",
      async () => ({ url: await findClosedAddress(), close: async () => {} }),
      /^Nothing listens there/,
    ],
    [
      "a server that never responds",
      () => startServer(createServer(() => {})),
      /^Respond first and work afterwards/,
    ],
  ])("is reported with what to change and without the secret: %s", async (_name, start, advice) => {
    const { passed, findings } = await check(start(), { timeoutMs: 500 });
    expect(findings).toMatchObject([
      { check: "valid", verdict: "fail", advice: expect.stringMatching(advice) },
    ]);
    expect(passed).toBe(false);
    expect(findings[0]?.observed).toMatch(
      /^responded \d{3}(,|$)|^did not respond( in \d+ ms|: ECONNREFUSED)$/,
    );
    expect(JSON.stringify(findings)).not.toContain(secret);
  });
});
