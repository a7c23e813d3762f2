/** Creates the deliveries of the doctor and sends them to the receiver: to no other address, and each within the timeout. */
import { type Secret, signWebhookSync } from "@loyalty-cards/webhook-verify";

export interface TestRequest {
  /** Default POST. */
  method?: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** Describes what was wrong although the response is right. */
  findMistake?: () => string | undefined;
}

export interface TestResponse {
  /** Absent when there was no response. 0 for a redirect whose status the runtime hides. */
  status?: number;
  /** Why there was no response. */
  error?: "timeout" | "no-connection";
  durationMs: number;
}

export type CreateHeader = (t: number, v1: string) => string;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Its types are written out: inferred ones have type parameters that TypeScript 5.4 does not know. */
interface SignedDelivery {
  headers: Record<string, string>;
  body: string | Uint8Array;
}

/** Functions that create events, signatures and deliveries. */
export function createDeliveries(
  secret: Secret,
  toleranceSeconds: number,
  now: () => number,
  card: { passId: string; customerId: string },
) {
  const runId = crypto.randomUUID().slice(0, 8); // the receiver has not seen the ids in an earlier run
  let count = 0;
  const nowSeconds = () => Math.floor(now() / 1000);

  /** A new event. By default a ping, because a ping changes no data of the receiver. */
  function createEvent(members: Record<string, unknown> = {}): Record<string, unknown> {
    count += 1;
    const createdAt = new Date(now()).toISOString();
    return { id: `evt_doctor_${runId}_${count}`, type: "ping", createdAt, data: {}, ...members };
  }

  /** A delivery with this signature header, or without one when `signature` is undefined. */
  function withHeader(
    signature: string | undefined,
    body: string | Uint8Array = JSON.stringify(createEvent()),
  ): SignedDelivery {
    const type = typeof body === "string" ? /"type":\s*"([\w.]+)"/.exec(body)?.[1] : undefined;
    const headers: Record<string, string> = {
      "content-type": "application/json",
      "service-event": type ?? "ping",
      "service-delivery": `dlv_doctor_${runId}_${count}`,
      ...(signature === undefined ? {} : { "service-signature": signature }),
    };
    return { headers, body };
  }

  /**
   * A delivery with a valid signature.
   * @param seconds when it was signed, counted from now.
   */
  function signed(
    content: string | Uint8Array | Record<string, unknown> = createEvent(),
    seconds = 0,
    key = secret,
  ): SignedDelivery {
    const body =
      typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content);
    const timestamp = nowSeconds() + seconds;
    return withHeader(signWebhookSync({ rawBody: body, secret: key, timestamp }), body);
  }

  /** A delivery whose header is made of `v1`, the valid signature of its body at `t`. */
  function withSignature(createHeader: CreateHeader, seconds = 0): TestRequest {
    const body = JSON.stringify(createEvent());
    const t = nowSeconds() + seconds;
    const [, v1 = ""] = signWebhookSync({ rawBody: body, secret, timestamp: t }).split("v1=");
    return withHeader(createHeader(t, v1), body);
  }

  const balanceChanged = (balance: number, secondsAgo: number) =>
    createEvent({
      type: "balance.changed",
      createdAt: new Date(now() - secondsAgo * 1000).toISOString(),
      data: {
        ...card,
        balance,
        change: 1,
        operation: { id: `op_doctor_${runId}_${count}`, type: "purchase" },
      },
    });

  return { toleranceSeconds, createEvent, balanceChanged, signed, withHeader, withSignature };
}

export type Send = (request: TestRequest) => Promise<TestResponse>;

/** Creates a function that sends a request, and again when the connection was closed. It rejects only when the signal aborts. */
export function createSender(
  url: string,
  fetch: typeof globalThis.fetch,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Send {
  async function sendOnce({ method = "POST", headers, body }: TestRequest): Promise<TestResponse> {
    signal?.throwIfAborted();
    const ended = new AbortController();
    const timeout = AbortSignal.timeout(timeoutMs);
    const startedMs = performance.now();
    try {
      const { status } = await fetch(url, {
        method,
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.any([ended.signal, timeout, ...(signal === undefined ? [] : [signal])]),
        ...(body instanceof ReadableStream && { duplex: "half" }),
      } as RequestInit);
      return { status, durationMs: performance.now() - startedMs };
    } catch {
      signal?.throwIfAborted();
      const error = timeout.aborted ? "timeout" : "no-connection";
      return { error, durationMs: performance.now() - startedMs };
    } finally {
      ended.abort(); // only the status matters; this also ends the upload of the body
    }
  }

  return async (request) => {
    const response = await sendOnce(request);
    const isRepeatable = response.error === "no-connection" && !(request.body instanceof ReadableStream);
    // The receiver may have closed an idle connection at the moment it was reused.
    return isRepeatable ? sendOnce(request) : response;
  };
}
