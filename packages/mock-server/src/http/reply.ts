/**
 * Replies of the service as plain data, and problem details. The Node adapter writes them to a
 * socket; callers in process get a `Response`, which does what fetch does where an injected fault
 * breaks the connection.
 */
import { toPrintable } from "@loyalty-cards/internal/format";
import type { Problem } from "../domain/problem.ts";
import { toMemberName } from "../domain/validation.ts";

/** How an injected fault breaks the connection that the reply is sent on. */
type ConnectionFault = "reset" | "destroy" | "truncate" | "hang";

export interface Reply {
  status: number;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | null;
  /** For the log: why the request failed, or that it was a replay. */
  reason?: string;
  fault?: ConnectionFault;
}

export const jsonReply = (status: number, value: unknown): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});

export const emptyReply = (status: number, headers: Reply["headers"] = {}): Reply => ({
  status,
  headers,
  body: null,
});

/** Of problem details, and of the HTML page of an injected fault, which may have the status 200. */
export const titles: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  423: "Locked",
  425: "Too Early",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/**
 * Makes problem details of a problem (spec 7, RFC 9457).
 * @param more `headers` besides `content-type`; `reason`, by default the first error or sentence.
 */
export function problemReply(
  problem: Problem,
  more: { headers?: Reply["headers"]; reason?: string } = {},
): Reply {
  const { status, detail, errors } = problem;
  const title = titles[status] ?? "Error";
  const details = { type: "about:blank", title, status, detail };
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      ...(status === 401 && { "www-authenticate": "Bearer" }),
      ...more.headers,
    },
    body: JSON.stringify(errors.length === 0 ? details : { ...details, errors }),
    reason: more.reason ?? formatReason(problem),
  };
}

/**
 * `customer.consents is missing, +1 more`: the first error, or else the first sentence of the
 * detail. A rule names its member; a sentence for a person does not.
 */
function formatReason({ detail, errors: [error, ...others] }: Problem): string {
  if (error === undefined) return toReason(detail.split(/\.\s/)[0] ?? "");
  const name = toMemberName(error.pointer);
  const text = error.rule?.replace(`"${name}"`, () => name) ?? `${name}: ${error.detail}`;
  return toReason(text) + (others.length > 0 ? `, +${others.length} more` : "");
}

const maxReasonLength = 200;

export const toReason = (sentence: string) =>
  toPrintable(sentence.replace(/\.$/, ""), maxReasonLength);

/** Makes a `Response` of a reply. Rejects as fetch does when an injected fault leaves none. */
export async function toResponse(reply: Reply, request: Request): Promise<Response> {
  const { status, headers, body, fault } = reply;
  if (fault === "hang") return waitForAbort(request);
  if (fault === "reset") throw createFetchError("ECONNRESET");
  if (fault === "destroy") throw createFetchError("UND_ERR_SOCKET");
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const content = fault === "truncate" ? truncate(body) : (body as string | null);
  return new Response(content, { status, headers });
}

const createFetchError = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });

/**
 * Requests that hang. The reference keeps them, and the signals that end them, from garbage
 * collection.
 */
const hangingRequests = new Set<Request>();

/** Rejects when the client aborts the request. */
function waitForAbort(request: Request): Promise<never> {
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

/** @returns the first half of the body, then the error of fetch for a connection that broke. */
function truncate(body: Reply["body"]): ReadableStream<Uint8Array> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const half = bytes?.subarray(0, bytes.length >> 1) ?? new Uint8Array();
  let isHalfSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isHalfSent) return controller.error(new TypeError("terminated"));
      isHalfSent = true;
      controller.enqueue(half);
    },
  });
}
