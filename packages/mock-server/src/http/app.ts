/** The Hono application: paths below the base URL, 404 and 405 that name what exists, errors as problem details, and a guard against other origins and host names. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { Hono, type MiddlewareHandler } from "hono";
import { Problem } from "../domain/problem.ts";
import { type Bindings, type Call, problemReply, type Reply, send } from "./reply.ts";

export type App = Hono<{ Bindings: Bindings }>;

export function createApp(baseUrl: string): App {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, "");
  const getPath = (request: Request) => {
    const { pathname } = new URL(request.url);
    return pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  };
  const app: App = new Hono(prefix === "" ? {} : { getPath });
  app.onError((error, c) => send(c, problemReply(toProblem(error))));
  return app;
}

export const toProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem(500, "The mock service failed.");

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** A 405 where the path has other methods; else a 404 that lists the routes, for a developer who mistyped a path. */
export function createNotFound(app: App, { req: { method, path } }: Call): Reply {
  const findMethods = (of: string) =>
    methods.filter((each) => app.router.match(each, of)[0].some(([[, route]]) => route.method === each));
  const allowed = findMethods(path);
  if (allowed.length > 0) {
    const allow = [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : [])].join(", ");
    return problemReply(new Problem(405, `Use ${allowed.join(", ")}.`), { allow });
  }
  const isControl = path.startsWith("/_mock");
  const known = app.routes
    .filter((route) => methods.includes(route.method) && route.path.startsWith("/_mock") === isControl)
    .map((route) => `${route.method} ${route.path.replaceAll(/:\w+/g, "*")}`);
  return problemReply(new Problem(404, `There is no ${method} ${path}. There are ${known.join(", ")}.`));
}

/** Responds 403 to a request that must be rejected. A request without a Host header was made in process, not by a browser. */
export const createGuard =
  (baseUrl: string, acceptsAnyHost: boolean): MiddlewareHandler =>
  async ({ req }, next) => {
    const ownHost = new URL(baseUrl).host;
    const host = req.header("host");
    if (!acceptsAnyHost && host !== undefined && host !== ownHost && !isLoopback(getHostname(host)))
      throw new Problem(403, `The Host header names "${host}"; only host names of this machine are allowed.`);
    const origin = req.header("origin");
    const fetchSite = req.header("sec-fetch-site");
    const isCrossOrigin =
      (origin !== undefined && getHost(origin) !== (host ?? ownHost)) ||
      (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none");
    if (isCrossOrigin && req.method !== "GET" && req.method !== "HEAD")
      throw new Problem(403, "Pages of another origin must not change anything here.");
    await next();
  };

const getHost = (origin: string) => (URL.canParse(origin) ? new URL(origin).host : undefined);

const getHostname = (host: string) =>
  URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
