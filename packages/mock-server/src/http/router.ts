/** Finds what a request asks for, checks the key, reads the body, and lets the operation answer. */
import { apiKeyKind } from "../domain/api-keys.ts";
import { Problem } from "../domain/problem.ts";
import type { State } from "../domain/state.ts";
import type { Domain } from "../domain/surroundings.ts";
import { readJson } from "./body.ts";
import { documentOf } from "./document.ts";
import { operations } from "./operations.ts";
import { type Reply, responseOf } from "./reply.ts";

export interface Control {
  reset(): void;
}

type Answer = Reply | Problem | Promise<Reply | Problem>;

interface Route {
  method: string;
  segments: readonly string[];
  answer(request: Request, id: string, url: URL): Answer;
}

/** Makes the whole HTTP surface out of the domain. Never rejects. */
export function createRouter(
  domain: Domain<State>,
  control: Control,
): (request: Request) => Promise<Response> {
  const routes: Route[] = Object.values(operations).map((operation) => ({
    method: operation.method,
    segments: segmentsOf(`/api/v1${operation.path}`),
    async answer(request, id, url) {
      const kind = apiKeyKind(domain.state, request.headers.get("authorization"));
      if (kind === undefined) return new Problem(401, "The API key is missing or unknown.");
      const body = operation.hasBody ? await readJson(request) : { value: undefined };
      if (body instanceof Problem) return body;
      const { headers } = request;
      return operation.run(domain, {
        id,
        query: url.searchParams,
        headers,
        body: body.value,
        apiKeyKind: kind,
      });
    },
  }));
  const route = (method: string, path: string, answer: Route["answer"]) =>
    routes.push({ method, segments: segmentsOf(path), answer });

  route("GET", "/api/docs/json", () => ({ status: 200, body: documentOf(domain.baseUrl) }));
  route("GET", "/_mock/health", () => ({ status: 200, body: { status: "ok" } }));
  route("POST", "/_mock/reset", () => {
    control.reset();
    return { status: 204 };
  });

  return async (request) => {
    const result = await answerTo(request).catch(() => new Problem(500, "The mock service failed."));
    const response = result instanceof Response ? result : responseOf(result);
    return request.method === "HEAD" ? new Response(null, response) : response;
  };

  async function answerTo(request: Request): Promise<Reply | Problem | Response> {
    const url = new URL(request.url);
    const prefix = new URL(domain.baseUrl).pathname.replace(/\/$/, "");
    const path = url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : url.pathname;
    const segments = segmentsOf(path);
    const method = request.method === "HEAD" ? "GET" : request.method;

    const candidates = routes.filter((candidate) => matches(candidate.segments, segments));
    const found = candidates.find((candidate) => candidate.method === method);
    if (found !== undefined) {
      const id = decoded(segments[found.segments.indexOf("*")] ?? "");
      return id === undefined ? notFound(method, path) : found.answer(request, id, url);
    }
    if (candidates.length > 0) return methodNotAllowed(candidates);
    return (await pageFor(domain, method, segments)) ?? notFound(method, path);
  }

  /** Says what exists: whoever meets this is a developer with a typing error. */
  function notFound(method: string, path: string): Problem {
    const known = routes
      .map((candidate) => `${candidate.method} /${candidate.segments.join("/")}`)
      .join(", ");
    return new Problem(404, `There is no ${method} ${path}. There are ${known}.`);
  }
}

/** What people look at. Loaded when somebody does: most services are only called by programs. */
async function pageFor(
  domain: Domain<State>,
  method: string,
  segments: readonly string[],
): Promise<Response | undefined> {
  if (method !== "GET") return undefined;
  const { pageAt } = await import("../pages/pages.ts");
  return pageAt(
    segments.map((segment) => decoded(segment) ?? ""),
    domain,
    (slug) => {
      const card = domain.state.cards.get(domain.state.cardIdBySlug.get(slug) ?? "");
      return card && { shop: domain, card };
    },
  );
}

function methodNotAllowed(candidates: readonly Route[]): Reply {
  const allow = candidates.map(({ method }) => method).join(", ");
  const problem = new Problem(405, `Use ${allow}.`);
  return { status: 405, body: problem, headers: { allow, "content-type": "application/problem+json" } };
}

const segmentsOf = (path: string) => path.split("/").slice(1);

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((segment, index) =>
      segment === "*" ? segments[index] !== "" : segment === segments[index],
    )
  );
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
