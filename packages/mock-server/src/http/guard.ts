/** Rejects requests to the control API and console that come from another origin or under another host name. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import type { AllowedHosts } from "../backend/options.ts";
import { Problem } from "../domain/problem.ts";
import type { ServiceRequest } from "./request.ts";
import type { Route } from "./router.ts";

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
