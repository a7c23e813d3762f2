/** Applies injected faults to requests: latency, error responses, broken connections. */
import { Problem } from "../domain/problem.ts";
import type { RequestFault } from "../faults/rules.ts";
import { type ConnectionFault, problemResponse, type ServiceResponse } from "./response.ts";

/** The reason in the request log. */
export const injectedFault = "injected fault";

/** Waits for the latency of a rule, in real time, or until the client disconnects. */
export function delayRequest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** @param response the service's own response. Default: a 500, for an operation that did not run. */
export function applyFault(
  fault: Exclude<RequestFault, { kind: "latency" }>,
  response: ServiceResponse = problemResponse(injectedProblem(500)),
): ServiceResponse {
  if (fault.kind === "status" || fault.kind === "in-progress") {
    const { status = 409, retryAfterSeconds: seconds } = fault;
    const headers = seconds === undefined ? {} : { "retry-after": String(seconds) };
    return { ...problemResponse(injectedProblem(status), headers), reason: injectedFault };
  }
  if (fault.kind === "html") return gatewayPage(fault.status ?? 502);
  return { ...response, connectionFault: fault.kind, reason: `${injectedFault}: ${fault.kind}` };
}

const injectedProblem = (status: number) => new Problem(status, "This error is an injected fault.");

function gatewayPage(status: number): ServiceResponse {
  const body = `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1></body></html>\n`;
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body, reason: injectedFault };
}

type FaultWithoutResponse = "reset" | "destroy" | "hang";

/** Whether the client receives no response. */
export function hasNoResponse(fault: ConnectionFault | undefined): fault is FaultWithoutResponse {
  return fault === "reset" || fault === "destroy" || fault === "hang";
}

/** Requests that hang. The reference keeps them, and the signals that end them, from garbage collection. */
const hangingRequests = new Set<Request>();

/** Rejects as fetch does when the connection breaks; a request that hangs ends when the client aborts it. */
export function rejectLikeFetch(fault: FaultWithoutResponse, request: Request): Promise<never> {
  if (fault !== "hang") {
    const code = fault === "reset" ? "ECONNRESET" : "UND_ERR_SOCKET";
    return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) }));
  }
  const { signal } = request;
  return new Promise((_, reject) => {
    const abort = () => {
      hangingRequests.delete(request);
      reject(signal.reason);
    };
    if (signal.aborted) return abort();
    hangingRequests.add(request);
    signal.addEventListener("abort", abort);
  });
}
