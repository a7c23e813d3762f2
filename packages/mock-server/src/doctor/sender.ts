/** Creates the requests of the doctor and sends them to the receiver: to no other address, and each within the timeout. */
import { type Secret, signWebhook } from "@loyalty-cards/webhook-verify";

export interface TestRequest {
  /** Default POST. */
  method?: "GET" | "POST";
  headers: Record<string, string>;
  /** A function returns chunks that are sent one by one. */
  body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>);
}

export interface TestResponse {
  /** Absent when there was no response. 0 for a redirect whose status the runtime hides. */
  status?: number;
  /** Why there was no response. */
  error?: "timeout" | "no-connection";
  /** The receiver's clock, from its `Date` header. */
  dateMs?: number;
  durationMs: number;
}

export interface DeliveryOptions {
  secret: Secret;
  toleranceSeconds: number;
  now: () => number;
  /** Part of the id of every event, so that the receiver has not seen it in an earlier run. */
  runId: string;
  cardId: string;
  customerId: string;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Functions that create events, signatures and deliveries. */
export function createDeliveries(options: DeliveryOptions) {
  const { secret, toleranceSeconds, now, runId, cardId, customerId } = options;
  let count = 0;
  const nowSeconds = () => Math.floor(now() / 1000);

  /** A new event. By default a ping, because a ping changes no data of the receiver. */
  function event(members: Record<string, unknown> = {}): Record<string, unknown> {
    count += 1;
    const createdAt = new Date(now()).toISOString();
    return { id: `evt_doctor_${runId}_${count}`, type: "ping", createdAt, data: {}, ...members };
  }

  const createHeaders = (
    body: string | Uint8Array,
    signature: string | undefined,
  ): Record<string, string> => ({
    "content-type": "application/json",
    "service-event": /"type":\s*"([\w.]+)"/.exec(typeof body === "string" ? body : "")?.[1] ?? "ping",
    "service-delivery": `dlv_doctor_${runId}_${count}`,
    ...(signature === undefined ? {} : { "service-signature": signature }),
  });

  /** The hex signature of a body, with the receiver's secret or another. */
  async function sign(body: string, timestamp = nowSeconds(), key: Secret = secret): Promise<string> {
    return (await signWebhook({ rawBody: body, secret: key, timestamp })).split("v1=")[1] as string;
  }

  /** A delivery with this signature header, or without one when `signature` is undefined. */
  const withSignature = (signature: string | undefined, body = JSON.stringify(event())): TestRequest => ({
    headers: createHeaders(body, signature),
    body,
  });

  return {
    toleranceSeconds,
    now,
    nowSeconds,
    event,
    sign,
    withSignature,
    /** One event with several signature headers, one per delivery. `v1` is its valid signature at `t`, the current time. */
    async withSignatures(createSignatures: (t: number, v1: string) => string[]): Promise<TestRequest[]> {
      const body = JSON.stringify(event());
      const t = nowSeconds();
      return createSignatures(t, await sign(body, t)).map((signature) => withSignature(signature, body));
    },
    balanceChanged: (balance: number, createdAtMs: number) =>
      event({
        type: "balance.changed",
        createdAt: new Date(createdAtMs).toISOString(),
        data: {
          passId: cardId,
          customerId,
          balance,
          change: 1,
          operation: { id: `op_doctor_${runId}_${count}`, type: "purchase" },
        },
      }),
    /** A delivery with a valid signature. */
    async signed(
      body: string | Uint8Array | Record<string, unknown> = event(),
      timestamp = nowSeconds(),
    ): Promise<TestRequest & { body: string | Uint8Array }> {
      const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      const signature = await signWebhook({ rawBody: bytes, secret, timestamp });
      return { headers: createHeaders(bytes, signature), body: bytes };
    },
  };
}

export type Send = (request: TestRequest) => Promise<TestResponse>;

export interface SendOptions {
  url: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** Creates a function that sends a request, and again when the connection was closed. It rejects only when the signal aborts. */
export function createSender({ url, fetch, timeoutMs, signal }: SendOptions): Send {
  async function sendOnce({ method = "POST", headers, body }: TestRequest): Promise<TestResponse> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const startedMs = performance.now();
    let hasTimedOut = false;
    const timer = setTimeout(() => {
      hasTimedOut = true;
      controller.abort(new Error("The receiver took too long."));
    }, timeoutMs);
    try {
      const streamed =
        typeof body === "function" ? { body: toStream(body()), duplex: "half" as const } : { body };
      const init = { method, headers, redirect: "manual" as const, signal: controller.signal, ...streamed };
      const response = await fetch(url, init as RequestInit);
      const durationMs = performance.now() - startedMs;
      response.body?.cancel().catch(() => {}); // only the status matters
      const dateMs = Date.parse(response.headers.get("date") ?? "");
      return { status: response.status, durationMs, ...(Number.isNaN(dateMs) ? {} : { dateMs }) };
    } catch {
      signal?.throwIfAborted();
      return { error: hasTimedOut ? "timeout" : "no-connection", durationMs: performance.now() - startedMs };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      controller.abort(); // also ends the upload of the body
    }
  }

  return async (request) => {
    const response = await sendOnce(request);
    const isRepeatable = response.error === "no-connection" && typeof request.body !== "function";
    // The receiver may have closed an idle connection at the moment it was reused.
    return isRepeatable ? sendOnce(request) : response;
  };
}

function toStream(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
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
