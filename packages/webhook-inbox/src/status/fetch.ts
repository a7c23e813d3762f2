/** The status page wherever a handler is a function from Request to Response. */
import type { InspectableInbox } from "../health.ts";
import { maxFormBytes, type StatusPageOptions, statusAnswers } from "./status.ts";

/**
 * A handler for one route: counts, the oldest events, dead letters with replay.
 * @throws {TypeError} when `authorize` is neither a function nor "elsewhere".
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
  const answer = statusAnswers(inbox, options);
  return async (request) => {
    const { status, headers, body } = await answer({
      method: request.method,
      query: () => new URL(request.url).searchParams,
      header: (name) =>
        request.headers.get(name) ?? (name === "host" ? new URL(request.url).host : undefined),
      form: async () => new URLSearchParams(await textOf(request)),
      original: request,
    });
    return new Response(request.method === "HEAD" || body === "" ? null : body, { status, headers });
  };
}

async function textOf({ body }: Request): Promise<string> {
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
