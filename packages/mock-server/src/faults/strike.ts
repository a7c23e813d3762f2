/** Does to an answer what a rule asks for. */
import { Problem } from "../domain/problem.ts";
import type { Reply } from "../http/reply.ts";
import type { RequestFault } from "./rules.ts";

type Striking = Exclude<RequestFault, { kind: "latency" }>;

/** Waits by the machine's clock, and no longer than the caller does. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** What comes instead of work that is not done. */
export function insteadOf(fault: Striking): Reply {
  return spoiled(fault, problemReply(500, {}));
}

/** What becomes of the answer to work that is done. */
export function spoiled(fault: Striking, answer: Reply): Reply {
  if (fault.kind === "status") {
    const { status, retryAfterSeconds: seconds } = fault;
    return problemReply(status, seconds === undefined ? {} : { "retry-after": String(seconds) });
  }
  if (fault.kind === "html") return gatewayPage(fault.status ?? 502);
  return { ...answer, fault: fault.kind };
}

function problemReply(status: number, headers: Record<string, string>): Reply {
  const problem = new Problem(status, "A fault was asked for, and this is it.");
  return { status, body: problem, headers: { "content-type": "application/problem+json", ...headers } };
}

function gatewayPage(status: number): Reply {
  const content = `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1></body></html>\n`;
  return { status, content, headers: { "content-type": "text/html; charset=utf-8" } };
}
