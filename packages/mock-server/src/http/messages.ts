/** Requests and responses of the service as plain data, JSON bodies, and injected faults that change a response. Adapters send responses, or convert them to a `Response`. */
import { readBounded, toChunks } from "@loyalty-cards/internal/bounded-body";
import { toPrintable } from "@loyalty-cards/internal/format";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import { type FieldError, isDeeperThan, Problem } from "../domain/problem.ts";
import type { RequestWarning } from "../domain/warnings.ts";
import type { RequestFault } from "../faults/rules.ts";

export interface ServiceRequest {
  method: string;
  url: URL;
  headers: { get(name: string): string | null };
  /** The whole body; undefined when it is longer than `maxBytes`, and the rest is not read. @throws when the connection ends early. */
  bytes(maxBytes: number): Promise<Uint8Array | undefined>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export function fromFetch(request: Request): ServiceRequest {
  const { method, headers, signal } = request;
  return {
    method,
    url: new URL(request.url),
    headers,
    signal,
    bytes: (maxBytes) => readBody(request, maxBytes),
  };
}

async function readBody({ body }: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  return body === null ? new Uint8Array() : readBounded(toChunks(body), maxBytes);
}

const maxBodyBytes = 1024 * 1024;
/** The bodies of the API need four levels. The limit makes recursion over a body safe. */
const maxBodyLevels = 64;
const decoder = new TextDecoder("utf-8", { fatal: true });

export type JsonBody = { value: unknown };

export async function readText(request: ServiceRequest): Promise<string | Problem> {
  try {
    const bytes = await request.bytes(maxBodyBytes);
    if (bytes === undefined) return new Problem(413, `The body is larger than ${maxBodyBytes} bytes.`);
    return decoder.decode(bytes);
  } catch {
    return new Problem(400, "The body is not UTF-8, or it is incomplete.");
  }
}

export async function readJson(
  request: ServiceRequest,
  text: string | Problem | undefined = undefined,
): Promise<JsonBody | Problem> {
  if (!/^\s*application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    return new Problem(415, "Send the body as Content-Type: application/json.");
  }
  const read = text ?? (await readText(request));
  return read instanceof Problem ? read : parseJson(read);
}

function parseJson(text: string): JsonBody | Problem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new Problem(400, text === "" ? "The body is empty; send JSON." : "The body is not JSON.");
  }
  if (isDeeperThan(maxBodyLevels, value)) {
    return new Problem(400, `The body is nested deeper than ${maxBodyLevels} levels.`);
  }
  return { value };
}

/** How an injected fault breaks the connection that the response is sent on. */
export type ConnectionFault = "reset" | "destroy" | "truncate" | "malformed" | "hang";

/** What an operation knows of its request. */
export interface LoggedRequest {
  operation: OperationId;
  apiKey?: string;
  idempotencyKey?: string;
  requestBody?: string;
}

export interface ServiceResponse {
  status: number;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  connectionFault?: ConnectionFault;
  /** For the request log: why the request failed, or `replay`. Not sent. */
  reason?: string;
  /** For the request log: the card that was issued or that the path names. Not sent. */
  cardId?: string | undefined;
  /** For the request log. Not sent. */
  warnings?: readonly RequestWarning[];
  /** For the request log: what is known of the request. Not sent. */
  logged?: LoggedRequest;
}

/** @throws {Error} for a value that JSON cannot represent: not a TypeError, which would mean invalid input. */
export function jsonResponse(status: number, value: unknown): ServiceResponse {
  try {
    return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
  } catch (cause) {
    throw new Error("The response cannot be written as JSON.", { cause });
  }
}

export const emptyResponse = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
): ServiceResponse => ({ status, headers, body: null });

/** @param headers headers besides `content-type`. */
export function problemResponse(
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
): ServiceResponse {
  return {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json", // spec 7
      ...(problem.status === 401 && { "www-authenticate": "Bearer" }),
      ...headers,
    },
    body: JSON.stringify(problem),
    reason: formatReason(problem),
  };
}

const maxReasonLength = 200;

/** `customer.consents is missing`: the first error, or else the first sentence of the detail. */
function formatReason({ detail, errors: [error] }: Problem): string {
  const sentence = error === undefined ? (detail.split(/\.\s/)[0] ?? "") : formatError(error);
  return toPrintable(sentence.replace(/\.$/, ""), maxReasonLength);
}

/** A rule names its member; a sentence for a person does not. */
function formatError({ pointer, detail, rule }: FieldError): string {
  const name = pointer.slice(1).replaceAll("/", ".");
  if (rule === undefined) return `${name}: ${detail}`;
  return rule.startsWith(`"${name}" `) ? name + rule.slice(name.length + 2) : rule;
}

export const toServiceResponse = (result: ServiceResponse | Problem): ServiceResponse =>
  result instanceof Problem ? problemResponse(result) : result;

/** Cancels the body of a response that is not sent. Otherwise the data of a stream would fill the memory. */
export function cancelBody({ body }: ServiceResponse): void {
  if (body instanceof ReadableStream) void body.cancel();
}

/** Converts to a `Response`; one that an injected fault truncates ends as fetch reports a connection that broke. */
export function toFetchResponse({ status, headers, body, connectionFault }: ServiceResponse): Response {
  const isTruncated = connectionFault === "truncate" || connectionFault === "malformed";
  return new Response(isTruncated ? truncateBody(body) : body, { status, headers });
}

/** The first half of the body, then the error of fetch. */
function truncateBody(body: ServiceResponse["body"]): ReadableStream<Uint8Array> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  let isHalfSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isHalfSent && bytes instanceof Uint8Array) {
        isHalfSent = true;
        controller.enqueue(bytes.subarray(0, bytes.length >> 1));
      } else controller.error(new TypeError("terminated"));
    },
  });
}

/** The reason in the request log. */
export const injectedFault = "injected fault";

/** Waits for the latency of a rule, in real time, or until the client disconnects. */
export function delayRequest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** @param response the service's own response. Default: a 500, for an operation that did not run. */
export function applyFault(
  fault: Exclude<RequestFault, { kind: "latency" }>,
  response: ServiceResponse = problemResponse(injectedProblem(500)),
): ServiceResponse {
  if (fault.kind === "status" || fault.kind === "in-progress") {
    const { status = 409, retryAfterSeconds: seconds } = fault;
    const headers = seconds === undefined ? {} : { "retry-after": String(seconds) };
    return { ...problemResponse(injectedProblem(status), headers), reason: injectedFault };
  }
  if (fault.kind === "html") return gatewayPage(fault.status ?? 502);
  return { ...response, connectionFault: fault.kind, reason: `${injectedFault}: ${fault.kind}` };
}

const injectedProblem = (status: number) => new Problem(status, "This error is an injected fault.");

function gatewayPage(status: number): ServiceResponse {
  const body = `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1></body></html>\n`;
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body, reason: injectedFault };
}

type FaultWithoutResponse = "reset" | "destroy" | "hang";

/** Whether the client receives no response. */
export function hasNoResponse(fault: ConnectionFault | undefined): fault is FaultWithoutResponse {
  return fault === "reset" || fault === "destroy" || fault === "hang";
}

/** Requests that hang. The reference keeps them, and the signals that end them, from garbage collection. */
const hangingRequests = new Set<Request>();

/** Rejects as fetch does when the connection breaks; a request that hangs ends when the client aborts it. */
export function rejectLikeFetch(fault: FaultWithoutResponse, request: Request): Promise<never> {
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
