/** The status page in Express 4 and 5. */
import type { Request, RequestHandler } from "express";
import type { InspectableInbox } from "../health.ts";
import { maxFormBytes, type StatusPageOptions, statusAnswers } from "./status.ts";

/**
 * A route handler: `app.use("/admin/inbox", requireAdmin, expressStatusPage(inbox, { authorize: "elsewhere" }))`.
 * @throws {TypeError} when `authorize` is neither a function nor "elsewhere".
 */
export function expressStatusPage(
  inbox: InspectableInbox,
  options?: StatusPageOptions<Request>,
): RequestHandler {
  const answer = statusAnswers(inbox, options);
  return async (request, response) => {
    const { status, headers, body } = await answer({
      method: request.method,
      query: new URL(request.originalUrl, "http://localhost").searchParams,
      header: (name) => request.get(name),
      form: () => formOf(request),
      original: request,
    });
    response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
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
