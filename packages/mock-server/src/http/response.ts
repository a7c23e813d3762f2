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

/** Ends as fetch does when the connection breaks, or never comes back until the caller gives up. */
export function noResponse(fault: "reset" | "destroy" | "hang", signal: AbortSignal): Promise<never> {
  if (fault !== "hang") {
    const code = fault === "reset" ? "ECONNRESET" : "UND_ERR_SOCKET";
    return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) }));
  }
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason));
  });
}
