/** Keeps strangers out of the control API: pages of other origins, and names that only pretend to be this machine. */
import { isLoopback } from "../domain/loopback.ts";
import { Problem } from "../domain/problem.ts";
import type { HttpRequest } from "../http/request.ts";
import type { Route } from "../http/router.ts";

/** Under which names the service may be called; `any` when it was put beyond this machine on purpose. */
export type AllowedHosts = "loopback" | "any";

export function guarded(route: Route, baseUrl: string, hosts: AllowedHosts): Route {
  return {
    ...route,
    answer: (call) => trespass(call.request, baseUrl, hosts) ?? route.answer(call),
  };
}

/** Without a Host header the request came in process, from nobody's browser. */
export function trespass(
  { method, headers }: HttpRequest,
  baseUrl: string,
  hosts: AllowedHosts,
): Problem | undefined {
  const own = new URL(baseUrl).host;
  const host = headers.get("host");
  if (hosts === "loopback" && host !== null && host !== own && !isLoopback(hostnameOf(host))) {
    return new Problem(403, `The Host header names "${host}"; only names of this machine are let in.`);
  }
  if (method === "GET" || method === "HEAD") return undefined;
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  const isForeign =
    (origin !== null && hostOf(origin) !== (host ?? own)) ||
    (site !== null && site !== "same-origin" && site !== "none");
  return isForeign ? new Problem(403, "Pages of another origin may not write here.") : undefined;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function hostnameOf(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
}
