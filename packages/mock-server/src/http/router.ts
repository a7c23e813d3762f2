/** Router: finds the route of a request, runs it, and responds 404, 405 or 500 where that fails. */
import { Problem } from "../domain/problem.ts";
import type { ServiceRequest } from "./request.ts";
import { cancelBody, problemResponse, type ServiceResponse, toServiceResponse } from "./response.ts";

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
  /** By the number of segments, so that few patterns are compared. */
  const table = new Map<number, (Route & { segments: readonly string[] })[]>();
  for (const route of routes) {
    const segments = splitPath(route.path);
    table.set(segments.length, [...(table.get(segments.length) ?? []), { ...route, segments }]);
  }

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
    const segments = splitPath(path);
    const method = request.method === "HEAD" ? "GET" : request.method;

    const candidates = findCandidates(segments);
    const found = candidates.find((candidate) => candidate.method === method);
    if (found === undefined) {
      return candidates.length === 0 ? notFound(method, path) : methodNotAllowed(candidates);
    }
    const params = found.segments.flatMap((segment, index) =>
      segment === "*" ? [decodeSegment(segments[index] ?? "")] : [],
    );
    return params.every((param) => param !== undefined)
      ? found.handle({ request, url, params })
      : notFound(method, path);
  }

  function findCandidates(segments: readonly string[]) {
    return (table.get(segments.length) ?? []).filter((candidate) => matches(candidate.segments, segments));
  }

  /** Lists the routes that exist, for a developer who mistyped a path. */
  function notFound(method: string, path: string): Problem {
    if (path.endsWith("/") && findCandidates(splitPath(path.slice(0, -1))).length > 0) {
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

const splitPath = (path: string) => path.split("/").slice(1);

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.every((segment, index) =>
    segment === "*" ? segments[index] !== "" : segment === segments[index],
  );
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
