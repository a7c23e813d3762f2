/** What the service answers, before it is a Response. */
import { Problem } from "../domain/problem.ts";

export interface Reply {
  status: number;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export function responseOf(result: Reply | Problem): Response {
  if (result instanceof Problem) {
    const headers: Record<string, string> = { "content-type": "application/problem+json" }; // spec 7
    if (result.status === 401) headers["www-authenticate"] = "Bearer";
    return new Response(JSON.stringify(result), { status: result.status, headers });
  }
  const { status, body, headers } = result;
  if (body === undefined) return new Response(null, { status, ...(headers && { headers }) });
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}
