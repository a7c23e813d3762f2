/** Finds the route that a request asks for, and turns whatever it gives into an answer. */
import { ContractViolation } from "../domain/contract-violation.ts";
import { Problem } from "../domain/problem.ts";
import { type Answer, abandon, answerOf, type Reply } from "./reply.ts";
import type { HttpRequest } from "./request.ts";

export interface RouteCall {
  request: HttpRequest;
  url: URL;
  /** The variable segments, decoded. */
  params: readonly string[];
}

export interface Route {
  method: string;
  /** `*` is a variable segment. */
  path: string;
  answer(call: RouteCall): Reply | Problem | Promise<Reply | Problem>;
}

/** Never rejects. */
export type Answering = (request: HttpRequest) => Promise<Answer>;

export function createRouter(baseUrl: string, routes: readonly Route[]): Answering {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, "");
  /** By how many segments they have, so that few need a closer look. */
  const table = new Map<number, (Route & { segments: readonly string[] })[]>();
  for (const route of routes) {
    const segments = segmentsOf(route.path);
    table.set(segments.length, [...(table.get(segments.length) ?? []), { ...route, segments }]);
  }

  return async (request) => {
    const answer = await answerTo(request)
      .then(answerOf)
      .catch((error) => answerOf(failureOf(error)));
    if (request.method !== "HEAD") return answer;
    abandon(answer);
    return { ...answer, content: null };
  };

  async function answerTo(request: HttpRequest): Promise<Reply | Problem> {
    const { url } = request;
    const path = url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : url.pathname;
    const segments = segmentsOf(path);
    const method = request.method === "HEAD" ? "GET" : request.method;

    const candidates = candidatesFor(segments);
    const found = candidates.find((candidate) => candidate.method === method);
    if (found === undefined) {
      return candidates.length === 0 ? notFound(method, path) : methodNotAllowed(candidates);
    }
    const params = found.segments.flatMap((segment, index) =>
      segment === "*" ? [decoded(segments[index] ?? "")] : [],
    );
    return params.every((param) => param !== undefined)
      ? found.answer({ request, url, params })
      : notFound(method, path);
  }

  function candidatesFor(segments: readonly string[]) {
    return (table.get(segments.length) ?? []).filter((candidate) => matches(candidate.segments, segments));
  }

  /** Says what exists: whoever meets this is a developer with a typing error. */
  function notFound(method: string, path: string): Problem {
    if (path.endsWith("/") && candidatesFor(segmentsOf(path.slice(0, -1))).length > 0) {
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

/** What a strict service says of itself is for the developer who runs it; anything else stays inside. */
function failureOf(error: unknown): Problem {
  return new Problem(500, error instanceof ContractViolation ? error.message : "The mock service failed.");
}

function methodNotAllowed(candidates: readonly Route[]): Reply {
  const methods = candidates.map(({ method }) => method);
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].join(", ");
  const problem = new Problem(405, `Use ${methods.join(", ")}.`);
  return { status: 405, body: problem, headers: { allow, "content-type": "application/problem+json" } };
}

const segmentsOf = (path: string) => path.split("/").slice(1);

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.every((segment, index) =>
    segment === "*" ? segments[index] !== "" : segment === segments[index],
  );
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
