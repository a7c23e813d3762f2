/** The request log: the newest requests to the API, and why they failed. It contains no bodies, queries, keys or other headers. */
import type { Backend, LoggedRequest } from "../backend/backend.ts";
import type { CardStore } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import type { RequestHandler } from "./router.ts";

const maxRequests = 2_000;
const maxPathLength = 200;

/** Adds each request to the log. */
export function withRequestLog(
  { domain, requests, changes }: Backend,
  handle: RequestHandler,
): RequestHandler {
  const prefix = `${new URL(domain.baseUrl).pathname.replace(/\/$/, "")}/api/v1/`;
  let count = 0;
  return async (request) => {
    const { method, url } = request;
    const path = url.pathname;
    if (!path.startsWith(prefix)) return handle(request);
    const startedMs = performance.now();
    const response = await handle(request);
    const { status, connectionFault, reason } = response;
    const cardId = response.cardId ?? findNamedCard(domain, path.slice(prefix.length));
    const entry: { -readonly [Name in keyof LoggedRequest]: LoggedRequest[Name] } = {
      id: `req_${++count}`,
      at: new Date(domain.nowMs()).toISOString(),
      method,
      path: path.slice(0, maxPathLength),
      durationMs: Math.round(performance.now() - startedMs),
    };
    if (connectionFault === undefined) entry.status = status;
    if (reason !== undefined) entry.reason = reason;
    if (cardId !== undefined) entry.cardId = cardId;
    requests.push(entry);
    if (requests.length > maxRequests) requests.shift();
    changes.notify({ type: "request", id: entry.id, action: "created" });
    return response;
  };
}

function findNamedCard({ state }: Domain<CardStore>, path: string): string | undefined {
  const [collection, id = ""] = path.split("/");
  return collection === "passes" && state.cards.has(id) ? id : undefined;
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
