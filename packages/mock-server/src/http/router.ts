/** Router: finds the route of a request, runs it, and responds 404, 405 or 500 where that fails. A guard rejects requests of other origins and host names. */

import { isLoopback } from "@loyalty-cards/internal/hostnames";
import type { AllowedHosts } from "../backend/options.ts";
import { Problem } from "../domain/problem.ts";
import {
  cancelBody,
  problemResponse,
  type ServiceRequest,
  type ServiceResponse,
  toServiceResponse,
} from "./messages.ts";

export interface RouteCall {
  request: ServiceRequest;
  url: URL;
  /** The variable segments, decoded. */
  params: readonly string[];
}

export interface Route {
  method: string;
  /** `*` is a variable segment. */
  path: string;
  handle(call: RouteCall): ServiceResponse | Problem | Promise<ServiceResponse | Problem>;
}

/** Responds to a request. Never rejects. */
export type RequestHandler = (request: ServiceRequest) => Promise<ServiceResponse>;

export function createRouter(baseUrl: string, routes: readonly Route[]): RequestHandler {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, "");
  const table = routes.map((route) => ({ route, pattern: toPattern(route.path) }));

  return async (request) => {
    let response: ServiceResponse;
    try {
      response = toServiceResponse(await dispatch(request));
    } catch {
      response = problemResponse(new Problem(500, "The mock service failed."));
    }
    if (request.method !== "HEAD") return response;
    cancelBody(response);
    return { ...response, body: null };
  };

  function dispatch(request: ServiceRequest): ReturnType<Route["handle"]> {
    const { url } = request;
    const path = url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : url.pathname;
    const method = request.method === "HEAD" ? "GET" : request.method;
    for (const { route, pattern } of table) {
      const match = route.method === method ? pattern.exec(path) : null;
      if (match === null) continue;
      const params = match.slice(1).map(decodeSegment);
      return params.every((param) => param !== undefined)
        ? route.handle({ request, url, params })
        : notFound(method, path);
    }
    const candidates = findRoutes(path);
    return candidates.length === 0 ? notFound(method, path) : methodNotAllowed(candidates);
  }

  function findRoutes(path: string): Route[] {
    return table.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route);
  }

  /** Lists the routes that exist, for a developer who mistyped a path. */
  function notFound(method: string, path: string): Problem {
    if (path.endsWith("/") && findRoutes(path.slice(0, -1)).length > 0) {
      return new Problem(404, `There is no ${method} ${path}. Leave out the slash at the end of the path.`);
    }
    const isControl = path.startsWith("/_mock");
    const known = routes
      .filter((candidate) => candidate.path.startsWith("/_mock") === isControl)
      .map((candidate) => `${candidate.method} ${candidate.path}`)
      .join(", ");
    return new Problem(404, `There is no ${method} ${path}. There are ${known}.`);
  }
}

function methodNotAllowed(candidates: readonly Route[]): ServiceResponse {
  const methods = candidates.map(({ method }) => method);
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].join(", ");
  return problemResponse(new Problem(405, `Use ${methods.join(", ")}.`), { allow });
}

/** @param path letters, `_`, `-` and `/`, and `*` for a segment that is not empty. */
const toPattern = (path: string) => new RegExp(`^${path.replaceAll("*", "([^/]+)")}$`);

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

export function withGuard(route: Route, baseUrl: string, hosts: AllowedHosts): Route {
  return {
    ...route,
    handle: (call) => findViolation(call.request, baseUrl, hosts) ?? route.handle(call),
  };
}

/** @returns a 403 for a request that must be rejected. A request without a Host header was made in process, not by a browser. */
export function findViolation(
  { method, headers }: ServiceRequest,
  baseUrl: string,
  hosts: AllowedHosts,
): Problem | undefined {
  const ownHost = new URL(baseUrl).host;
  const host = headers.get("host");
  if (hosts === "loopback" && host !== null && host !== ownHost && !isLoopback(getHostname(host))) {
    return new Problem(403, `The Host header names "${host}"; only host names of this machine are allowed.`);
  }
  if (method === "GET" || method === "HEAD") return undefined;
  const origin = headers.get("origin");
  const fetchSite = headers.get("sec-fetch-site");
  const isCrossOrigin =
    (origin !== null && getHost(origin) !== (host ?? ownHost)) ||
    (fetchSite !== null && fetchSite !== "same-origin" && fetchSite !== "none");
  return isCrossOrigin
    ? new Problem(403, "Pages of another origin must not change anything here.")
    : undefined;
}

function getHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function getHostname(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
}
