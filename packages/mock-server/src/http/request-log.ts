/** The request log: the newest requests to the API, and why they failed. It contains no bodies, queries, keys or other headers. */
import { parseBearer } from "../domain/api-keys.ts";
import type { LoggedRequest, Sandbox } from "../sandbox/sandbox.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { ServiceRequest } from "./request.ts";
import type { ServiceResponse } from "./response.ts";
import type { RequestHandler } from "./router.ts";

const maxRequests = 2_000;
const maxPathLength = 200;

/** Adds each request to the log of its sandbox. A request without a known key belongs to the default sandbox. */
export function withRequestLog(
  sandboxes: Sandboxes,
  baseUrl: string,
  handle: RequestHandler,
): RequestHandler {
  const prefix = `${new URL(baseUrl).pathname.replace(/\/$/, "")}/api/v1/`;
  let count = 0;
  return async (request) => {
    if (!request.url.pathname.startsWith(prefix)) return handle(request);
    const startedMs = performance.now();
    const response = await handle(request);
    const key = parseBearer(request.headers.get("authorization"));
    const sandbox = sandboxes.findByApiKey(key)?.sandbox ?? sandboxes.first;
    const entry = toLoggedRequest(sandbox, request, response, prefix);
    const durationMs = Math.round(performance.now() - startedMs);
    addRequest(sandbox, { id: `req_${++count}`, ...entry, durationMs });
    return response;
  };
}

function toLoggedRequest(
  { domain }: Sandbox,
  { method, url }: ServiceRequest,
  { status, connectionFault, reason, cardId }: ServiceResponse,
  prefix: string,
): Omit<LoggedRequest, "id" | "durationMs"> {
  const path = url.pathname;
  const [, named = ""] = /^passes\/([^/]+)/.exec(path.slice(prefix.length)) ?? [];
  const card = cardId ?? (domain.state.cards.has(named) ? named : undefined);
  return {
    at: new Date(domain.nowMs()).toISOString(),
    method,
    path: path.slice(0, maxPathLength),
    ...(connectionFault === undefined && { status }),
    ...(reason !== undefined && { reason }),
    ...(card !== undefined && { cardId: card }),
  };
}

/** Whether the method, path, status, reason or card of a request contains the search text. */
export function matchesRequest(
  { method, path, status, reason, cardId }: LoggedRequest,
  searchText: string,
): boolean {
  const line = [method, path, status, reason, cardId].join(" ");
  return line.toLowerCase().includes(searchText.trim().toLowerCase());
}

/** A request failed when its status is an error, or when an injected fault broke the connection. */
export const hasFailed = ({ status }: LoggedRequest): boolean => status === undefined || status >= 400;

function addRequest({ requests, changes }: Sandbox, request: LoggedRequest): void {
  requests.push(request);
  if (requests.length > maxRequests) requests.shift();
  changes.notify({ type: "request", id: request.id, action: "created" });
}
