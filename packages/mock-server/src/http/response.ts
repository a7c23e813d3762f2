/** Makes a Response of an answer; what a socket would suffer becomes its nearest equal in fetch. */
import type { Answer, WireFault } from "./reply.ts";

export function responseOf(answer: Answer): Response {
  const { status, headers, content, fault } = answer;
  const isCut = fault === "truncate" || fault === "malformed";
  return new Response(isCut ? cut(content) : content, { status, headers });
}

/** Half of the body, and then what fetch says when the connection ends inside one. */
function cut(content: Answer["content"]): ReadableStream<Uint8Array> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  let isHalfSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isHalfSent && bytes instanceof Uint8Array) {
        isHalfSent = true;
        controller.enqueue(bytes.subarray(0, bytes.length >> 1));
      } else controller.error(new TypeError("terminated"));
    },
  });
}

/** Whether the caller gets no answer at all. */
export function isSilent(fault: WireFault | undefined): fault is "reset" | "destroy" | "hang" {
  return fault === "reset" || fault === "destroy" || fault === "hang";
}

/** Requests that hang. Without this the engine would collect them, and with them the signal that ends them. */
const hanging = new Set<Request>();

/** Ends as fetch does when the connection breaks, or never comes back until the caller gives up. */
export function noResponse(fault: "reset" | "destroy" | "hang", request: Request): Promise<never> {
  if (fault !== "hang") {
    const code = fault === "reset" ? "ECONNRESET" : "UND_ERR_SOCKET";
    return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) }));
  }
  const { signal } = request;
  return new Promise((_, reject) => {
    const giveUp = () => {
      hanging.delete(request);
      reject(signal.reason);
    };
    if (signal.aborted) return giveUp();
    hanging.add(request);
    signal.addEventListener("abort", giveUp);
  });
}
