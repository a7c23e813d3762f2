/** Sends one request to the receiver under examination, and nowhere else; ends in time, whatever the receiver does. */

export interface Shipment {
  /** Default POST. */
  method?: "GET" | "POST";
  headers: Record<string, string>;
  /** A function makes chunks that are sent as they come. */
  body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>);
}

export interface Answer {
  /** Absent when there was none. A redirect that the runtime hides is 0. */
  status?: number;
  /** Why there was none. */
  fault?: "too-slow" | "no-connection";
  /** The receiver's clock, where it tells. */
  dateMs?: number;
  durationMs: number;
}

export type Send = (shipment: Shipment, timeLimitMs?: number) => Promise<Answer>;

export interface SendOptions {
  url: string;
  fetch: typeof globalThis.fetch;
  timeLimitMs: number;
  signal: AbortSignal | undefined;
}

/** Rejects only with the caller's own abort. */
export function sender({ url, fetch, timeLimitMs, signal }: SendOptions): Send {
  async function attempt({ method = "POST", headers, body }: Shipment, limitMs: number): Promise<Answer> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const startedMs = performance.now();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      controller.abort(new Error("The receiver took too long."));
    }, limitMs);
    try {
      const streamed =
        typeof body === "function" ? { body: streamOf(body()), duplex: "half" as const } : { body };
      const init = { method, headers, redirect: "manual" as const, signal: controller.signal, ...streamed };
      const response = await fetch(url, init as RequestInit);
      const durationMs = performance.now() - startedMs;
      response.body?.cancel().catch(() => {}); // what it says beside the status is nothing to us
      const dateMs = Date.parse(response.headers.get("date") ?? "");
      return { status: response.status, durationMs, ...(Number.isNaN(dateMs) ? {} : { dateMs }) };
    } catch {
      signal?.throwIfAborted();
      return { fault: late ? "too-slow" : "no-connection", durationMs: performance.now() - startedMs };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      controller.abort(); // also ends a body that nobody waits for any more
    }
  }

  return async (shipment, limitMs = timeLimitMs) => {
    const first = await attempt(shipment, limitMs);
    const isRepeatable = first.fault === "no-connection" && typeof shipment.body !== "function";
    // The receiver may have closed an idle connection at the very moment it was used again.
    return isRepeatable ? attempt(shipment, limitMs) : first;
  };
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
