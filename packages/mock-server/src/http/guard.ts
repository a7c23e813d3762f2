/** Protects the service from pages of other origins, and from other host names. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import type { Backend } from "../backend/backend.ts";
import { createProblem } from "../domain/problem.ts";
import { type ApiContext, type App, type Middleware, respond } from "./app.ts";
import { problemReply } from "./reply.ts";
import { logUnrouted } from "./traffic-log.ts";

/** Must be called before the routes are added. */
export function addGuards(app: App, backend: Backend): void {
  const guard = createGuard(backend, backend.settings.acceptsAnyHost);
  for (const path of ["/", "/api/*", "/_mock/*", "/console/*"]) app.use(path, guard);
  // Anyone who has the address of a card may add it; pages of other origins may not.
  app.use("/cards/*", createGuard(backend, true));
}

/** Responds 403 to a request that must be rejected. One to the API is in the log of requests. */
function createGuard(backend: Backend, acceptsAnyHost: boolean): Middleware {
  const ownHost = new URL(backend.settings.baseUrl).host;
  function reject(context: ApiContext, detail: string): Response {
    const reply = problemReply(createProblem(403, detail));
    if (context.req.path.startsWith("/api/")) logUnrouted(backend, context, reply);
    return respond(context, reply);
  }

  return async (context, next) => {
    const host = context.req.header("host");
    if (!acceptsAnyHost && !isOwnHost(host, ownHost)) {
      const rule = "only host names of this machine are allowed.";
      return reject(context, `The Host header names "${host}"; ${rule}`);
    }
    const isReading = context.req.method === "GET" || context.req.method === "HEAD";
    if (!isReading && isCrossOrigin(context, host ?? ownHost))
      return reject(context, "Pages of another origin must not change anything here.");
    return next();
  };
}

/** A request without a Host header was made in process, not by a browser. */
function isOwnHost(host: string | undefined, ownHost: string): boolean {
  if (host === undefined || host === ownHost) return true;
  const hostname = getHostname(host);
  // Containers reach this machine as host.docker.internal. Public DNS has no names in `internal`.
  return isLoopback(hostname) || hostname.endsWith(".internal");
}

function isCrossOrigin({ req }: ApiContext, host: string): boolean {
  const origin = req.header("origin");
  if (origin !== undefined && getHost(origin) !== host) return true;
  const fetchSite = req.header("sec-fetch-site");
  return fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none";
}

const getHost = (origin: string) => (URL.canParse(origin) ? new URL(origin).host : undefined);

const getHostname = (host: string) =>
  URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
