/**
 * Makes a `Response` of a reply, for callers in process, and does what fetch does where an injected
 * fault breaks the connection.
 */
import type { Reply } from "./reply.ts";

/** Rejects as fetch does when an injected fault leaves no response. */
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
