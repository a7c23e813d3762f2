/** Replies of the service as plain data, injected faults that change them, and how they are sent: the Node adapter writes them to a socket, others get a `Response`. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { readBounded, toChunks } from "@loyalty-cards/internal/bounded-body";
import type { Context } from "hono";
import { isDeeperThan, Problem } from "../domain/problem.ts";
import type { RequestFault } from "../faults/rules.ts";

/** How an injected fault breaks the connection that the reply is sent on. */
export type ConnectionFault = "reset" | "destroy" | "truncate" | "hang";

export interface Reply {
  status: number;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | null;
  fault?: ConnectionFault;
}

/** @param write sends a reply on a socket. Absent in process. */
export type Bindings = { write?: (reply: Reply) => void };

export type Call = Context<{ Bindings: Bindings }>;

export const jsonReply = (status: number, value: unknown): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});

export const emptyReply = (status: number, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers,
  body: null,
});

/** @param headers headers besides `content-type`. */
export function problemReply(problem: Problem, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json", // spec 7
      ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
      ...headers,
    },
    body: JSON.stringify(problem),
  };
}

/** Thrown in process for a reply that never arrives. Not an Error, so that Hono does not make it a response. */
export class BrokenConnection {
  readonly fault: ConnectionFault;

  constructor(fault: ConnectionFault) {
    this.fault = fault;
  }
}

/** Not a `Response`: where the program has replaced that class by the one of `@hono/node-server`, the adapter would send it. */
const alreadySent = { status: 200, headers: RESPONSE_ALREADY_SENT.headers, body: null } as Response;

/** @throws {BrokenConnection} in process, when an injected fault leaves no response. */
export function send({ env }: Call, reply: Reply): Response {
  if (env?.write !== undefined) {
    env.write(reply);
    return alreadySent;
  }
  const { status, headers, body, fault } = reply;
  if (fault === undefined) return new Response(body as string | null, { status, headers });
  if (fault !== "truncate") throw new BrokenConnection(fault);
  return new Response(truncate(body), { status, headers });
}

/** The first half of the body, then the error of fetch for a connection that broke. */
function truncate(body: Reply["body"]): ReadableStream<Uint8Array> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
  let isHalfSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isHalfSent) return controller.error(new TypeError("terminated"));
      isHalfSent = true;
      controller.enqueue(bytes.subarray(0, bytes.length >> 1));
    },
  });
}

/** Requests that hang. The reference keeps them, and the signals that end them, from garbage collection. */
const hangingRequests = new Set<Request>();

/** Rejects as fetch does when the connection breaks; a request that hangs ends when the client aborts it. */
export function rejectLikeFetch({ fault }: BrokenConnection, request: Request): Promise<never> {
  if (fault !== "hang") {
    const code = fault === "reset" ? "ECONNRESET" : "UND_ERR_SOCKET";
    return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) }));
  }
  const { signal } = request;
  return new Promise((_, reject) => {
    const abort = () => {
      hangingRequests.delete(request);
      reject(signal.reason);
    };
    if (signal.aborted) return abort();
    hangingRequests.add(request);
    signal.addEventListener("abort", abort);
  });
}

const maxBodyBytes = 1024 * 1024;
/** The bodies of the API need four levels. The limit makes recursion over a body safe. */
const maxBodyLevels = 64;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** @throws {Problem} for a body that is too large, incomplete or not UTF-8. */
export async function readText({ req }: Call): Promise<string> {
  const length = req.header("content-length");
  let bytes: ArrayBuffer | Uint8Array | undefined;
  try {
    if (length !== undefined) bytes = Number(length) <= maxBodyBytes ? await req.arrayBuffer() : undefined;
    else bytes = req.raw.body ? await readBounded(toChunks(req.raw.body), maxBodyBytes) : new Uint8Array();
    if (bytes !== undefined) return decoder.decode(bytes);
  } catch {
    throw new Problem(400, "The body is not UTF-8, or it is incomplete.");
  }
  throw new Problem(413, `The body is larger than ${maxBodyBytes} bytes.`);
}

/** @throws {Problem} for another content type, for text that is not JSON, and for deep nesting. */
export function parseJson({ req }: Call, text: string): unknown {
  if (!/^\s*application\/json\s*(;|$)/i.test(req.header("content-type") ?? "")) {
    throw new Problem(415, "Send the body as Content-Type: application/json.");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem(400, text === "" ? "The body is empty; send JSON." : "The body is not JSON.");
  }
  if (isDeeperThan(maxBodyLevels, value)) {
    throw new Problem(400, `The body is nested deeper than ${maxBodyLevels} levels.`);
  }
  return value;
}

/** @throws {Problem} for a text that is not a whole number above 0. */
export function parseLimit(text: string | undefined, defaultLimit: number, maxLimit = 100): number {
  if (text === undefined) return defaultLimit;
  if (/^0*[1-9]\d*$/.test(text)) return Math.min(Number(text), maxLimit);
  throw new Problem(400, "limit must be a whole number, 1 or more.");
}

/** @param reply the service's own reply. Default: a 500, for an operation that did not run. */
export function applyFault(
  fault: Exclude<RequestFault, { kind: "latency" }>,
  reply: Reply = problemReply(injectedProblem(500)),
): Reply {
  if (fault.kind === "status" || fault.kind === "in-progress") {
    const { status = 409, retryAfterSeconds: seconds } = fault;
    return problemReply(
      injectedProblem(status),
      seconds === undefined ? {} : { "retry-after": String(seconds) },
    );
  }
  if (fault.kind !== "html") return { ...reply, fault: fault.kind };
  const { status = 502 } = fault;
  const body = `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1></body></html>\n`;
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body };
}

const injectedProblem = (status: number) => new Problem(status, "This error is an injected fault.");
