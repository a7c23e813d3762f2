/**
 * The API: its routes, the middleware that a request passes (the body, authentication, earlier
 * requests), the OpenAPI document, and the 404 of paths that do not exist.
 */
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import type { Backend } from "../backend/backend.ts";
import { apiKeyTitles } from "../domain/api-keys.ts";
import type { Domain } from "../domain/context.ts";
import { findKeyRecord } from "../domain/issue-card.ts";
import { createProblem } from "../domain/problem.ts";
import { type App, createNotFound, type Middleware, respond } from "./app.ts";
import { handlers } from "./handlers.ts";
import { injectFaults } from "./injected-faults.ts";
import { jsonReply, problemReply } from "./reply.ts";
import { parseJson, readText } from "./request.ts";
import { logRequests, logUnrouted, toLoggedBody } from "./traffic-log.ts";

export function addApi(app: App, backend: Backend): void {
  const { domain } = backend;
  const middleware = [
    authenticate(domain),
    // This is before the faults, because one of them responds to a second request with the key of a
    // running one.
    trackEarlierRequests(domain),
    injectFaults(domain),
    parseBody,
  ];
  for (const [name, { method, path, hasBody }] of Object.entries(operations)) {
    const operationId = name as OperationId;
    const handle = handlers[operationId];
    app.on(
      method,
      `/api/v1${path.replace(/\{\w+\}/, ":id")}`,
      logRequests(backend, operationId),
      // The body is read before the key is checked, because the log has the body of a 401 too.
      ...(hasBody ? [readBody] : []),
      ...middleware,
      (context) => respond(context, handle(domain, context)),
    );
  }
  // On a port, /api/docs is the interactive reference.
  app.on("GET", ["/api/docs", "/api/docs/json"], async (context) => {
    const { default: document } = await import("@loyalty-cards/openapi/openapi.json", {
      with: { type: "json" },
    });
    const servers = [{ url: `${domain.baseUrl}/api/v1`, description: "This mock server." }];
    return respond(context, jsonReply(200, { ...document, servers }));
  });
  app.notFound((context) => {
    const reply = createNotFound(app, context);
    // A browser requests an icon for each response that it shows, which is not traffic of the app.
    const isLogged = !context.req.path.startsWith("/_mock") && context.req.path !== "/favicon.ico";
    if (isLogged) logUnrouted(backend, context, reply);
    return respond(context, reply);
  });
}

const readBody: Middleware = async (context, next) => {
  const { entry } = context.var;
  const { value: text, failure } = await readText(context);
  if (failure !== undefined) return respond(context, problemReply(failure));
  context.set("text", text);
  entry.requestBody = toLoggedBody(text);
  return next();
};

const unauthorized = createProblem(401, "The API key is missing or unknown.");

/** A request needs a valid API key (spec 5.2). */
const authenticate =
  (domain: Domain): Middleware =>
  async (context, next) => {
    const key = parseBearer(context.req.header("authorization"));
    const { kind } = domain.state.apiKeys.get(key ?? "") ?? {};
    if (kind === undefined) {
      const reason = key === undefined ? "no API key" : "unknown key";
      return respond(context, problemReply(unauthorized, { reason }));
    }
    context.set("apiKeyKind", kind);
    context.set("state", domain.state);
    context.var.entry.apiKey = apiKeyTitles[kind];
    return next();
  };

/** Returns the key in an `Authorization` header. */
const parseBearer = (authorization: string | undefined) =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];

/**
 * Sets what became of earlier requests with the same idempotency key (spec 8), for the faults that
 * match it. Only a request that issues a card uses its key; `domain/issue-card` replays them.
 */
function trackEarlierRequests(domain: Domain): Middleware {
  /** The keys of the requests that are being processed. */
  const inProgress = new Set<string>();

  return async (context, next) => {
    const { entry } = context.var;
    const key = context.req.header("idempotency-key");
    if (key !== undefined) entry.idempotencyKey = key;
    if (key === undefined || entry.operation !== "issueCard") {
      context.set("earlier", { isInProgress: false });
      return next();
    }
    context.set("earlier", {
      isInProgress: inProgress.has(key),
      cardAgeMs: getCardAgeMs(domain, key),
    });
    if (inProgress.has(key)) return next();
    inProgress.add(key);
    try {
      await next();
    } finally {
      inProgress.delete(key);
    }
  };
}

/** How long ago a card was issued under the key. */
function getCardAgeMs(domain: Domain, key: string): number | undefined {
  const record = findKeyRecord(domain, key);
  return record?.cardId === undefined ? undefined : domain.nowMs() - record.atMs;
}

/** Runs after the faults, because they also match a request whose body is not JSON. */
const parseBody: Middleware = async (context, next) => {
  const { text } = context.var;
  if (text === undefined) return next();
  const { value: body, failure } = parseJson(context, text);
  if (failure !== undefined) return respond(context, problemReply(failure));
  context.set("body", body);
  return next();
};
