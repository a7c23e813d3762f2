/** A receiver written by hand, right as it stands, whose every step a test can replace by one that is often seen. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening, type RunningServer } from "./adapter-contract.ts";
import { secret } from "./signed-delivery.ts";

export interface Steps {
  read(request: IncomingMessage): Promise<Buffer | undefined>;
  /** Undefined when the header is malformed. */
  parse(header: string): { t: string; v1: string[] } | undefined;
  isFresh(t: string): boolean;
  signedText(t: string, body: Buffer): Buffer;
  matches(expected: Buffer, v1: string[]): boolean;
  take(event: { id: string; type: string; createdAt: string }): number;
  answer(request: IncomingMessage, response: ServerResponse, status: number): void;
  /** The status for what throws. */
  failed(error: unknown): number;
  before(request: IncomingMessage, response: ServerResponse): boolean;
}

const maxBytes = 1024 * 1024;

export const right: Steps = {
  before(request, response) {
    if (request.method === "POST") return true;
    response.writeHead(405).end();
    return false;
  },
  async read(request) {
    const chunks: Buffer[] = [];
    let length = 0;
    request.setTimeout(300, () => request.destroy());
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
    const valuesOf = (name: string) => pairs.filter(([key]) => key === name).map(([, value]) => value ?? "");
    const [t, ...moreT] = valuesOf("t");
    const v1 = valuesOf("v1");
    const isWell =
      moreT.length === 0 && /^\d{1,12}$/.test(t ?? "") && v1.every((hex) => /^[\da-f]{64}$/i.test(hex));
    return t !== undefined && isWell && v1.length > 0 ? { t, v1 } : undefined;
  },
  isFresh: (t) => Math.abs(Date.now() / 1000 - Number(t)) <= 301,
  signedText: (t, body) => Buffer.concat([Buffer.from(`${t}.`), body]),
  matches: (expected, v1) => v1.some((hex) => timingSafeEqual(expected, Buffer.from(hex, "hex"))),
  take: () => 204,
  answer(_request, response, status) {
    response.writeHead(status, { connection: "close" }).end();
  },
  failed: () => 400,
};

async function judged(steps: Steps, request: IncomingMessage): Promise<number> {
  const body = await steps.read(request);
  if (body === undefined) return 413;
  const header = request.headers["service-signature"];
  const parsed = typeof header === "string" ? steps.parse(header) : undefined;
  if (parsed === undefined || !steps.isFresh(parsed.t)) return 401;
  const expected = createHmac("sha256", secret).update(steps.signedText(parsed.t, body)).digest();
  if (!steps.matches(expected, parsed.v1)) return 401;
  return steps.take(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
}

/** Starts the receiver with some of its steps replaced. */
export function receiverWith(wrong: Partial<Steps>): Promise<RunningServer> {
  const steps = { ...right, ...wrong };
  const server = createServer((request, response) => {
    if (!steps.before(request, response)) return;
    judged(steps, request)
      .catch(steps.failed)
      .then((status) => steps.answer(request, response, status));
  });
  return listening(server);
}
