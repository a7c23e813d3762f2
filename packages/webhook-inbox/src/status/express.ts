/** The status page in Express 4 and 5. */
import type { Request, RequestHandler } from "express";
import type { InspectableInbox } from "../health.ts";
import { maxFormBytes, type StatusPageOptions, statusAnswers } from "./status.ts";

/**
 * A route handler: `app.use("/admin/inbox", requireAdmin, expressStatusPage(inbox, { authorize: "elsewhere" }))`.
 * @throws {TypeError} when `authorize` is neither a function nor "elsewhere".
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { expressStatusPage } from "@loyalty-cards/webhook-inbox/status";
 * import express, { type RequestHandler } from "express";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * export const withStatusPage = (requireAdmin: RequestHandler) =>
 *   express().use("/admin/inbox", requireAdmin, expressStatusPage(inbox, { authorize: "elsewhere" }));
 * ```
 */
export function expressStatusPage(
  inbox: InspectableInbox,
  options?: StatusPageOptions<Request>,
): RequestHandler {
  const answer = statusAnswers(inbox, options);
  return async (request, response, next) => {
    try {
      const { status, headers, body } = await answer({
        method: request.method,
        // Not by way of a URL: a request may name an address that is none.
        query: () => new URLSearchParams(request.originalUrl.split("?").slice(1).join("?")),
        header: (name) => request.get(name),
        form: () => formOf(request),
        original: request,
      });
      response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
    } catch (error) {
      next(error); // Express 4 leaves a promise that rejects to the process, which it ends
    }
  };
}

/** Whether or not a parser was there before. */
async function formOf(request: Request): Promise<URLSearchParams> {
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
