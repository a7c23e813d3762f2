/** The log of the requests: what each sent, what it got, and warnings about it. */
import { copyStart } from "@loyalty-cards/internal/format";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { Backend } from "../backend/backend.ts";
import type { Domain } from "../domain/context.ts";
import type { ApiContext, Middleware } from "./app.ts";
import type { Reply } from "./reply.ts";

type Entry = ApiContext["var"]["entry"];

const maxRequests = 200;
const maxPathLength = 2_000;
/** How much of a body is stored, in characters. */
const maxBodyLength = 65_536;

export const logRequests =
  (backend: Backend, operationId: OperationId): Middleware =>
  async (context, next) => {
    const startedMs = performance.now();
    const entry = createEntry(backend, context);
    entry.operation = operationId;
    context.set("entry", entry);
    await next();
    // After a reset the request is not one of the test that runs now.
    if (context.var.state !== undefined && context.var.state !== backend.domain.state) return;
    entry.durationMs = Math.round(performance.now() - startedMs);
    addEntry(backend, entry, context.env.reply);
  };

/** Logs a request that reaches no operation of the API, such as one to an unknown path. */
export const logUnrouted = (backend: Backend, context: ApiContext, reply: Reply): void =>
  addEntry(backend, createEntry(backend, context), reply);

export const toLoggedBody = (text: string) => copyStart(text, maxBodyLength);

const createEntry = ({ domain }: Backend, { req }: ApiContext): Entry => ({
  kind: "request",
  id: domain.ids.nextRequestId(),
  at: new Date(domain.nowMs()).toISOString(),
  method: req.method,
  path: req.url.slice(req.url.indexOf("/", "https://".length)).slice(0, maxPathLength),
  ...readSender(req),
  durationMs: 0,
  warnings: [],
});

/** A browser fixes its User-Agent, so the console names itself in another header. */
function readSender(req: ApiContext["req"]): Pick<Entry, "sentBy"> {
  if (req.header("x-sent-by") === "console") return { sentBy: "console" };
  const isDoctor = /^loyalty-cards\b.* doctor$/.test(req.header("user-agent") ?? "");
  return isDoctor ? { sentBy: "doctor" } : {};
}

/** Completes the entry with the reply, of which a broken connection leaves nothing. */
function addEntry(backend: Backend, entry: Entry, reply: Reply): void {
  const { domain, settings, requests, changes } = backend;
  const cardId = entry.cardId ?? findNamedCard(domain, entry.path);
  if (cardId !== undefined) entry.cardId = cardId;
  if (reply.reason !== undefined) entry.reason = reply.reason;
  if (reply.fault === undefined) {
    entry.status = reply.status;
    if (typeof reply.body === "string") entry.responseBody = toLoggedBody(reply.body);
  }
  if (settings.logsWarnings)
    for (const { message } of entry.warnings) settings.log(`warning: ${message}`);
  requests.push(entry);
  if (requests.length > maxRequests) requests.shift();
  changes.notify({ request: entry });
}

function findNamedCard({ state }: Domain, path: string): string | undefined {
  const id = /\/passes\/([^/?]+)/.exec(path)?.[1];
  return id !== undefined && state.cards.has(id) ? id : undefined;
}
