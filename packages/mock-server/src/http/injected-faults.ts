/**
 * Injects the faults that match a request: before it is processed, and into its response. They are
 * for the app, so a request of the console gets none.
 */
import type { Domain } from "../domain/context.ts";
import { createProblem } from "../domain/problem.ts";
import { type FaultTarget, type RequestFault, takeRequestFault } from "../faults/rules.ts";
import { type ApiContext, type Middleware, respond } from "./app.ts";
import { problemReply, type Reply, titles } from "./reply.ts";

/** A fault that changes the reply. One of latency only delays it. */
type ReplyFault = Exclude<RequestFault, { kind: "latency" }>;

export const injectFaults =
  (domain: Domain): Middleware =>
  async (context, next) => {
    const { operation = "", idempotencyKey, sentBy } = context.var.entry;
    if (sentBy === "console") return next();
    const target: FaultTarget = { operation, idempotencyKey, ...context.var.earlier };

    const before = takeFault(domain, "before", target, context);
    if (before?.kind === "latency") await waitForLatency(before.delayMs, context);
    else if (before !== undefined) return respond(context, applyFault(before, unprocessed));
    // After a reset the request is not one of the test that runs now.
    if (domain.state !== context.var.state) return respond(context, wasReset);

    await next();
    const { reply } = context.env;
    const isCommitted = reply.status < 400;
    const after = isCommitted ? takeFault(domain, "after-commit", target, context) : undefined;
    if (after?.kind === "latency") await waitForLatency(after.delayMs, context);
    else if (after !== undefined) return respond(context, applyFault(after, reply));
    return undefined;
  };

/** Takes the fault that matches, and puts it into the log. */
function takeFault(
  domain: Domain,
  phase: RequestFault["phase"],
  target: FaultTarget,
  { var: { entry } }: ApiContext,
): RequestFault | undefined {
  const fault = takeRequestFault(domain, phase, target);
  if (fault !== undefined) entry.fault = { kind: fault.kind, phase };
  return fault;
}

/** Waits in real time, or until the client disconnects. */
function waitForLatency(delayMs: number, { req }: ApiContext): Promise<void> {
  const { signal } = req.raw;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const createInjectedProblem = (status: number) =>
  createProblem(status, "This error is an injected fault.");

/** The reply to a request that was not processed. */
const unprocessed = problemReply(createInjectedProblem(500));

const wasReset = problemReply(
  createProblem(500, "The mock service was reset before it processed the request."),
);

/** @param reply the reply without the fault. */
function applyFault(fault: ReplyFault, reply: Reply): Reply {
  const reason = "injected fault";
  switch (fault.kind) {
    case "status":
    case "in-progress": {
      const { status = 409, retryAfterSeconds: seconds } = fault;
      const headers = seconds === undefined ? {} : { "retry-after": String(seconds) };
      return problemReply(createInjectedProblem(status), { headers, reason });
    }
    case "html":
      return { ...createGatewayPage(fault.status ?? 502), reason };
    default:
      return { ...reply, fault: fault.kind, reason };
  }
}

function createGatewayPage(status: number): Reply {
  const title = `<title>${status}</title>`;
  const heading = `<h1>${status} ${titles[status]}</h1>`;
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<!DOCTYPE html>\n<html><head>${title}</head><body>${heading}</body></html>\n`,
  };
}
