/** Entry point `/status`: the status page in Express 4 and 5, and wherever a handler is a function from Request to Response. */

import { toChunks } from "@loyalty-cards/internal/bounded-body";
import type { Request as ExpressRequest, RequestHandler } from "express";
import type { InspectableInbox } from "../reports.ts";
import { createInboxSource } from "./inbox-source.ts";
import { createOutboxSource, type InspectableOutbox } from "./outbox-source.ts";
import { createStatusHandler, type StatusPageOptions, type StatusRequest } from "./page.ts";

/**
 * A route handler for Express: counts, dead letters with replay; of an outbox, users whose card is waiting, rejected or unknown.
 * @param inbox an inbox, or an outbox of `@loyalty-cards/issuing-outbox`.
 * @throws {TypeError} when `authorize` is neither a function nor "external".
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { expressStatusPage } from "@loyalty-cards/webhook-inbox/status";
 * import express, { type RequestHandler } from "express";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * export const withStatusPage = (requireAdmin: RequestHandler) =>
 *   express().use("/admin/inbox", requireAdmin, expressStatusPage(inbox, { authorize: "external" }));
 * ```
 */
export function expressStatusPage(
  inbox: InspectableInbox | InspectableOutbox,
  options?: StatusPageOptions<ExpressRequest>,
): RequestHandler {
  const respond = createStatusHandler(createSource(inbox), options);
  return async (request, response, next) => {
    try {
      const { status, headers, body } = await respond({
        method: request.method,
        // Not with `new URL`: the target of a request may be malformed.
        query: () => new URLSearchParams(request.originalUrl.split("?").slice(1).join("?")),
        header: (name) => request.get(name),
        body: () => getExpressBody(request),
        original: request,
      });
      response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
    } catch (error) {
      next(error); // Express 4 does not handle a rejected promise, which would end the process
    }
  };
}

const createSource = (inbox: InspectableInbox | InspectableOutbox) =>
  "resolve" in inbox ? createOutboxSource(inbox) : createInboxSource(inbox);

/** The body as it arrives, or what a body parser made of it before. */
function getExpressBody(request: ExpressRequest): ReturnType<StatusRequest<unknown>["body"]> {
  const { body } = request as { body?: unknown };
  // The parsers of Express 4 set an empty object when the body is not of their type, and do not read it.
  const isParsed = typeof body === "object" && body !== null && !ArrayBuffer.isView(body);
  if (isParsed && (request.readableDidRead || Object.keys(body).length > 0)) return { ...body };
  return request.readableEnded ? Object.fromEntries(new URLSearchParams(String(body ?? ""))) : request;
}

/**
 * A handler from Request to Response: counts, dead letters with replay; of an outbox, users whose card is waiting, rejected or unknown.
 * @param inbox an inbox, or an outbox of `@loyalty-cards/issuing-outbox`.
 * @throws {TypeError} when `authorize` is neither a function nor "external".
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { fetchStatusPage } from "@loyalty-cards/webhook-inbox/status";
 * import { Hono } from "hono";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * const authorize = (request: Request) => request.headers.get("authorization") === `Bearer ${process.env.ADMIN_TOKEN}`;
 * const page = fetchStatusPage(inbox, { authorize });
 * export default new Hono().all("/admin/inbox", (context) => page(context.req.raw));
 * ```
 */
export function fetchStatusPage(
  inbox: InspectableInbox | InspectableOutbox,
  options?: StatusPageOptions<Request>,
): (request: Request) => Promise<Response> {
  const respond = createStatusHandler(createSource(inbox), options);
  return async (request) => {
    const { status, headers, body } = await respond({
      method: request.method,
      query: () => new URL(request.url).searchParams,
      header: (name) =>
        request.headers.get(name) ?? (name === "host" ? new URL(request.url).host : undefined),
      body: () => (request.body === null ? {} : toChunks(request.body)),
      original: request,
    });
    return new Response(request.method === "HEAD" || body === "" ? null : body, { status, headers });
  };
}
