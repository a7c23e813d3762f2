/** A correct hand-written receiver, and receivers in which one step is replaced by a common mistake. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
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
      .then((status) => respondWith(response, status));
  });
  return listening(server);
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
export function parsePairs(header: string): { t?: string; v1?: string } {
  return Object.fromEntries(header.split(",").map((pair) => pair.trim().split("=")));
}

const reserialize = (body: Buffer) => {
  try {
    return JSON.stringify(JSON.parse(body.toString()));
  } catch {
    return body.toString();
  }
};

/** Each receiver with one mistake, and exactly what the doctor must report: the check, and the delivery with the wrong response. */
export const wrongReceivers: [
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
    ["fail forged: a body in which one letter was changed after signing", "warn get: a GET request"],
  ],
  [
    "accepts a delivery without a signature",
    () => respondsWhen(204, (headers, method) => method === "POST" && !headers["service-signature"]),
    ["fail missing-signature: a delivery without a signature"],
  ],
  [
    "has a tolerance of NaN",
    () => ({ isFresh: (t) => !(Math.abs(Date.now() / 1000 - Number(t)) > Number("unset")) }),
    ["fail wrong-time: a delivery signed one minute before the tolerance"],
  ],
  [
    "accepts signatures from the future",
    () => ({ isFresh: (t) => Date.now() / 1000 - Number(t) <= 301 }),
    ["fail wrong-time: a delivery signed one minute after the tolerance"],
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
        return header.length < 1024 && header.split("t=").length === 2 && /^\d+$/.test(t ?? "") && v1
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
    () => ({ accept: ({ type }) => ([undefined, "ping", "balance.changed"].includes(type) ? 204 : 500) }),
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
