/** Entry point `/status`: the status page in Express 4 and 5, and wherever a handler is a function from Request to Response. */
import type { Request as ExpressRequest, RequestHandler } from "express";
import type { InspectableInbox } from "../reports.ts";
import { createStatusHandler, maxFormBytes, type StatusPageOptions } from "./page.ts";

export type { StatusPageOptions } from "./page.ts";

/**
 * A route handler for Express: counts, the oldest events, dead letters with replay.
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
  inbox: InspectableInbox,
  options?: StatusPageOptions<ExpressRequest>,
): RequestHandler {
  const respond = createStatusHandler(inbox, options);
  return async (request, response, next) => {
    try {
      const { status, headers, body } = await respond({
        method: request.method,
        // Not with `new URL`: the target of a request may be malformed.
        query: () => new URLSearchParams(request.originalUrl.split("?").slice(1).join("?")),
        header: (name) => request.get(name),
        form: () => readExpressForm(request),
        original: request,
      });
      response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
    } catch (error) {
      next(error); // Express 4 does not handle a rejected promise, which would end the process
    }
  };
}

/** Reads the form, whether or not a body parser has read it. */
async function readExpressForm(request: ExpressRequest): Promise<URLSearchParams> {
  const { body } = request as { body?: unknown };
  if (typeof body === "object" && body !== null && !ArrayBuffer.isView(body)) {
    const { id } = body as { id?: unknown };
    return new URLSearchParams(typeof id === "string" ? { id } : {});
  }
  if (request.readableEnded) return new URLSearchParams(String(body ?? ""));
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > maxFormBytes) throw new RangeError("The form is too large.");
  }
  return new URLSearchParams(text);
}

/**
 * A handler from Request to Response: counts, the oldest events, dead letters with replay.
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
  inbox: InspectableInbox,
  options?: StatusPageOptions<Request>,
): (request: Request) => Promise<Response> {
  const respond = createStatusHandler(inbox, options);
  return async (request) => {
    const { status, headers, body } = await respond({
      method: request.method,
      query: () => new URL(request.url).searchParams,
      header: (name) =>
        request.headers.get(name) ?? (name === "host" ? new URL(request.url).host : undefined),
      form: async () => new URLSearchParams(await readText(request)),
      original: request,
    });
    return new Response(request.method === "HEAD" || body === "" ? null : body, { status, headers });
  };
}

async function readText({ body }: Request): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > maxFormBytes) throw new RangeError("The form is too large.");
  }
  return text;
}
