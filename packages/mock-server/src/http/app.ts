/**
 * The Hono application: how a handler responds, paths below the base URL, and the 404 and 405 that
 * name what exists.
 */
import { describeError } from "@loyalty-cards/internal/reporting";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { Settings } from "../backend/options.ts";
import { createProblem } from "../domain/problem.ts";
import type { ApiKeyKind, State, TrafficRequest } from "../domain/state.ts";
import type { EarlierRequests } from "../faults/rules.ts";
import { problemReply, type Reply, toReason } from "./reply.ts";

interface Env {
  /** The reply, which the adapter sends. */
  Bindings: { reply: Reply };
  Variables: ApiVariables;
}

/** What each middleware of the API finds out, for those after it and for the handler. */
interface ApiVariables {
  /** The entry in the log, which is completed while the request is processed. */
  entry: { -readonly [Name in keyof TrafficRequest]: TrafficRequest[Name] };
  /** The body as it arrived, of the methods that have one. */
  text: string | undefined;
  apiKeyKind: ApiKeyKind;
  /** That of the service when the request was authenticated; a reset replaces it. */
  state: State | undefined;
  earlier: EarlierRequests;
  /** The parsed body. */
  body: unknown;
}

export type App = Hono<Env>;
/** Hono's context of a request. */
export type ApiContext = Context<Env>;
export type Middleware = MiddlewareHandler<Env>;

const internalError = problemReply(createProblem(500, "The mock service failed."));

export function createApp({ baseUrl, log }: Settings): App {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, "");
  const getPath = (request: Request) => {
    const { pathname } = new URL(request.url);
    return pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  };
  const app: App = new Hono(prefix === "" ? {} : { getPath });
  app.onError((error, context) => {
    log(`The mock service failed: ${describeError(error)}.`);
    return respond(context, internalError);
  });
  return app;
}

/** Returns the reply to a request. */
export async function getReply(app: App, request: Request): Promise<Reply> {
  const bindings = { reply: internalError };
  await app.fetch(request, bindings);
  return bindings.reply;
}

/**
 * What Hono gets instead of a response. The adapters send the reply. It is created at first use,
 * because the module can be imported where there is no `Response`.
 */
let handled: Response | undefined;

/** Responds with this reply. A middleware can replace it after `next()`. */
export function respond(context: ApiContext, reply: Reply): Response {
  context.env.reply = reply;
  handled ??= new Response(null);
  return handled;
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * @returns a 405 where the path has other methods; else a 404 that lists the operations of the API,
 * or of the control API, for a developer who mistyped a path.
 */
export function createNotFound(app: App, { req: { method, path } }: ApiContext): Reply {
  const message = `There is no ${method} ${path}.`;
  const reason = toReason(message);
  const allowed = methods.filter((each) => hasRoute(app, each, path));
  if (allowed.length > 0) {
    const problem = createProblem(405, `Use ${allowed.join(", ")}.`);
    if (allowed.includes("GET")) allowed.push("HEAD");
    return problemReply(problem, { headers: { allow: allowed.join(", ") }, reason });
  }
  const known = listRoutes(app, path.startsWith("/_mock") ? "/_mock" : "/api/v1");
  return problemReply(createProblem(404, `${message} There are ${known.join(", ")}.`), { reason });
}

const hasRoute = (app: App, method: string, path: string) =>
  app.router.match(method, path)[0].some(([[, route]]) => route.method === method);

/** @returns each route once, although Hono has an entry for each middleware of it. */
function listRoutes(app: App, start: string): string[] {
  const routes = app.routes
    .filter(({ method, path }) => methods.includes(method) && path.startsWith(start))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, "*")}`);
  return [...new Set(routes)];
}
