/** A correct hand-written receiver, and receivers in which one step is replaced by a common mistake. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening, type RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";

export interface Steps {
  read(request: IncomingMessage): Promise<Buffer | undefined>;
  /** Undefined when the header is malformed. */
  parse(header: string): { t: string; v1: string[] } | undefined;
  isFresh(t: string): boolean;
  signedText(t: string, body: Buffer): Buffer;
  matches(expected: Buffer, v1: string[]): boolean;
  accept(event: { id: string; type: string; createdAt: string }): number;
  respond(request: IncomingMessage, response: ServerResponse, status: number): void;
  /** The status when a step throws. */
  failed(error: unknown): number;
  before(request: IncomingMessage, response: ServerResponse): boolean;
}

const maxBytes = 1024 * 1024;

export const correctSteps: Steps = {
  before(request, response) {
    if (request.method === "POST") return true;
    response.writeHead(405).end();
    return false;
  },
  async read(request) {
    const chunks: Buffer[] = [];
    let length = 0;
    request.setTimeout(1_000, () => request.destroy());
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
    const getValues = (name: string) => pairs.filter(([key]) => key === name).map(([, value]) => value ?? "");
    const [t, ...moreT] = getValues("t");
    const v1 = getValues("v1");
    const isValid =
      moreT.length === 0 && /^\d{1,12}$/.test(t ?? "") && v1.every((hex) => /^[\da-f]{64}$/i.test(hex));
    return t !== undefined && isValid && v1.length > 0 ? { t, v1 } : undefined;
  },
  isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 301,
  signedText: (t, body) => Buffer.concat([Buffer.from(`${t}.`), body]),
  matches: (expected, v1) => v1.some((hex) => timingSafeEqual(expected, Buffer.from(hex, "hex"))),
  accept: () => 204,
  respond(_request, response, status) {
    response.writeHead(status, { connection: "close" }).end();
  },
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
export function startReceiver(replaced: Partial<Steps>): Promise<RunningServer> {
  const steps = { ...correctSteps, ...replaced };
  const server = createServer((request, response) => {
    if (!steps.before(request, response)) return;
    getStatus(steps, request)
      .catch(steps.failed)
      .then((status) => steps.respond(request, response, status));
  });
  return listening(server);
}

const respondWith = (response: ServerResponse, status: number): false => {
  response
    .writeHead(status, { connection: "close", ...(status === 308 ? { location: "/elsewhere" } : {}) })
    .end();
  return false;
};

async function readFirstChunk(request: IncomingMessage): Promise<Buffer> {
  const [chunk = Buffer.alloc(0)] = await Promise.race([once(request, "data"), once(request, "end")]);
  return chunk;
}

/** Reads without a limit, but stores the beginning only, so that the test needs little memory. */
async function readEverything(request: IncomingMessage): Promise<Buffer> {
  let start = Buffer.alloc(0);
  request.setTimeout(1_000, () => request.destroy());
  for await (const chunk of request) if (start.length < 10_000) start = Buffer.concat([start, chunk]);
  return start;
}

async function readWithoutTimeout(request: IncomingMessage): Promise<Buffer | undefined> {
  const body = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.length < 40 && chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks))).on("error", reject);
    request.on("data", () => chunks.length === 40 && resolve(Buffer.alloc(0)));
  });
  return body.length === 0 && request.headers["transfer-encoding"] !== undefined ? undefined : body;
}

/** The last value of each name. */
export function parsePairs(header: string): { t?: string; v1?: string } {
  return Object.fromEntries(header.split(",").map((pair) => pair.trim().split("=")));
}

function rememberIds(order: (event: { id: string; createdAt: string }, seen: Set<string>) => boolean) {
  const seen = new Set<string>();
  return (event: { id: string; type: string; createdAt: string }) => (order(event, seen) ? 204 : 409);
}

const reserialize = (body: Buffer) => {
  try {
    return JSON.stringify(JSON.parse(body.toString()));
  } catch {
    return body.toString();
  }
};

/** Each receiver with one mistake, and the exact findings that the doctor must report. */
export const wrongReceivers: [
  misaccept: string,
  createSteps: () => Partial<Steps>,
  findings: string[],
  options?: { timeoutMs: number },
][] = [
  [
    "accepts everything",
    () => ({ parse: () => ({ t: "0", v1: [] }), isFresh: () => true, matches: () => true }),
    ["fail tampered"],
  ],
  [
    "accepts a delivery without a signature",
    () => ({
      before: (request, response) =>
        request.method === "POST" && request.headers["service-signature"] === undefined
          ? respondWith(response, 204)
          : correctSteps.before(request, response),
    }),
    ["fail missing-signature"],
  ],
  ["does not check the age of a signature", () => ({ isFresh: () => true }), ["fail stale", "fail future"]],
  [
    "has a tolerance of NaN",
    () => ({ isFresh: (t) => !(Math.abs(Date.now() / 1000 - Number(t)) > Number("unset")) }),
    ["fail stale", "fail future"],
  ],
  [
    "accepts signatures from the future",
    () => ({ isFresh: (t) => Date.now() / 1000 - Number(t) <= 301 }),
    ["fail future"],
  ],
  [
    "has a tolerance of 5 seconds",
    () => ({ isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 5 }),
    ["warn within-tolerance"],
  ],
  [
    "verifies a body that was parsed and serialized again",
    () => ({ signedText: (t, body) => Buffer.from(`${t}.${reserialize(body)}`) }),
    ["fail bytes"],
  ],
  [
    "reads the body as ASCII",
    () => ({ signedText: (t, body) => Buffer.from(`${t}.${body.toString("ascii")}`) }),
    ["fail unicode"],
  ],
  ["reads only the first chunk", () => ({ read: readFirstChunk }), ["fail chunked-body"]],
  [
    "responds 500 when a comparison throws",
    () => ({
      parse(header) {
        const { t, v1 } = parsePairs(header);
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
    "compares only the beginning of a signature",
    () => ({
      parse: (header) =>
        correctSteps.parse(header.replace(/v1=([\da-f]{32})$/, `v1=$1${"-".repeat(0)}${"0".repeat(32)}`)),
      matches: (expected, v1) =>
        v1.some((hex) => expected.toString("hex").startsWith(hex.toLowerCase().replace(/0{32}$/, ""))),
    }),
    ["fail short-v1"],
  ],
  [
    "parses t with parseInt",
    () => ({ parse: (header) => correctSteps.parse(header.replace(/t=(\d+)[a-z]+/, "t=$1")) }),
    ["fail t-not-a-number"],
  ],
  [
    "checks the age of one t and the signature of another",
    () => ({
      parse(header) {
        const [first, ...rest] = header.split(",");
        const isDouble = rest[0]?.startsWith("t=");
        const parsed = correctSteps.parse(isDouble ? rest.join(",") : header);
        return parsed && isDouble ? { ...parsed, t: `${first?.slice(2)}/${parsed.t}` } : parsed;
      },
      isFresh: (t) => correctSteps.isFresh(t.split("/")[0] ?? ""),
      signedText: (t, body) => correctSteps.signedText(t.split("/").at(-1) ?? "", body),
    }),
    ["fail two-t"],
  ],
  [
    "reads the first v1 only",
    () => ({ matches: (expected, [first = ""]) => correctSteps.matches(expected, [first]) }),
    ["warn two-signatures"],
  ],
  [
    "compares signatures as text",
    () => ({ matches: (expected, v1) => v1.includes(expected.toString("hex")) }),
    ["warn upper-case-hex"],
  ],
  [
    "accepts t and v1 pairs only",
    () => ({
      parse: (header) => (/^t=\d+,(v1=\w+,?)+$/.test(header) ? correctSteps.parse(header) : undefined),
    }),
    ["warn unknown-pairs"],
  ],
  [
    "responds 409 to duplicates",
    () => ({ accept: rememberIds(({ id }, seen) => !seen.has(id) && seen.add(id) !== undefined) }),
    ["fail duplicate"],
  ],
  [
    "responds 409 to late events",
    () => ({
      accept: ({ type, createdAt }) =>
        type === "balance.changed" && Date.parse(createdAt) < Date.now() - 30_000 ? 409 : 204,
    }),
    ["fail out-of-order"],
  ],
  [
    "responds 500 to unknown types",
    () => ({ accept: ({ type }) => ([undefined, "ping", "balance.changed"].includes(type) ? 204 : 500) }),
    ["fail unknown-type"],
  ],
  [
    "looks up handlers in an object",
    () => ({ accept: ({ type }) => (type in {} ? 500 : 204) }),
    ["fail unknown-type"],
  ],
  [
    "rejects unknown properties",
    () => ({ accept: (event) => ("shop" in event ? 400 : 204) }),
    ["fail extra-members"],
  ],
  [
    "rejects unexpected data of a ping",
    () => ({
      accept: (event) =>
        "data" in event && event.data !== null && typeof event.data === "object" ? 204 : 400,
    }),
    ["warn ping-data"],
  ],
  [
    "requires an exact content type",
    () => ({
      before: (request, response) =>
        /;/.test(request.headers["content-type"] ?? "")
          ? respondWith(response, 415)
          : correctSteps.before(request, response),
    }),
    ["warn content-type"],
  ],
  ["responds 500 to a body that is not an event", () => ({ failed: () => 500 }), ["fail invalid-payload"]],
  [
    "looks up the unsigned type in an object",
    () => ({
      before: (request, response) =>
        String(request.headers["service-event"]) in {}
          ? respondWith(response, 500)
          : correctSteps.before(request, response),
    }),
    ["fail unknown-type", "fail event-type-mismatch"],
  ],
  ["reads bodies without a limit", () => ({ read: readEverything }), ["warn oversized"]],
  ["waits for a body forever", () => ({ read: readWithoutTimeout }), ["warn stalled"], { timeoutMs: 2_000 }],
  [
    "responds 200 to GET",
    () => ({
      before: (request, response) =>
        request.method === "GET" ? respondWith(response, 200) : correctSteps.before(request, response),
    }),
    ["warn get"],
  ],
  [
    "works before it responds",
    () => {
      let isFirst = true;
      return {
        async read(request) {
          if (isFirst) await new Promise((resolve) => setTimeout(resolve, 2_100));
          isFirst = false;
          return correctSteps.read(request);
        },
      };
    },
    ["warn response-time"],
    { timeoutMs: 4_000 },
  ],
  [
    "has a clock that is two minutes slow",
    () => ({
      respond: (_request, response, status) =>
        void response
          .writeHead(status, { connection: "close", date: new Date(Date.now() - 120_000).toUTCString() })
          .end(),
    }),
    ["warn clock"],
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
      "fail not-hex",
      "fail invalid-payload",
      "fail event-type-mismatch",
      "fail long-header",
      "warn get",
      "fail still-responding",
    ],
  ],
  ["redirects", () => ({ before: (_request, response) => respondWith(response, 308) }), ["fail valid"]],
  ["has another secret", () => ({ matches: () => false }), ["fail valid"]],
  ["fails for every event", () => ({ accept: () => 500 }), ["fail valid"]],
];
