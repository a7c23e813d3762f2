/** One delivery attempt: signs the body, sends it, and waits up to ten seconds for the response (spec 6). */
import { signWebhook } from "@loyalty-cards/webhook-verify";
import type { Attempt, Delivery } from "./deliveries.ts";
import type { Endpoint } from "./endpoints.ts";

/** Sends the request of a delivery and returns the response: `fetch`, or a receiver under test. */
export type Deliver = (request: Request) => Response | Promise<Response>;

export interface DeliveryTransport {
  deliver: Deliver;
  /** Which clock `t` is read from. */
  signedWith: "service" | "machine";
  /** The time of that clock. */
  signingTimeMs: () => number;
  deliveryTimeoutMs: number;
}

type AttemptOutcome = { status: number } | { error: string };

export type AttemptResult = AttemptOutcome & Pick<Attempt, "signedAt" | "signedWith">;

/** Never rejects: a request that cannot be sent is a failed attempt. @param abort ends the attempt; the timeout uses it too. */
export async function sendAttempt(
  transport: DeliveryTransport,
  endpoint: Endpoint,
  delivery: Delivery,
  isDropped: boolean,
  abort: AbortController,
): Promise<AttemptResult> {
  const timestamp = Math.floor(transport.signingTimeMs() / 1000);
  const signature = {
    signedAt: new Date(timestamp * 1000).toISOString(),
    signedWith: transport.signedWith,
  };
  if (isDropped) return { error: "dropped by an injected fault", ...signature };
  try {
    const request = await createRequest(endpoint, delivery, timestamp, abort.signal);
    const outcome = await withTimeout(
      transport.deliveryTimeoutMs,
      abort,
      readStatus(transport.deliver, request),
    );
    return { ...outcome, ...signature };
  } catch (error) {
    return { error: formatError(error), ...signature };
  }
}

async function createRequest(
  endpoint: Endpoint,
  delivery: Delivery,
  timestamp: number,
  signal: AbortSignal,
): Promise<Request> {
  const signature = await signWebhook({ rawBody: delivery.body, secret: endpoint.secret, timestamp });
  return new Request(endpoint.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "service-event": delivery.type,
      "service-delivery": delivery.id,
      "service-signature": signature,
    },
    body: delivery.body,
    redirect: "manual", // spec 6.3.5: a redirect is not a 2xx
    signal,
  });
}

async function readStatus(deliver: Deliver, request: Request): Promise<AttemptOutcome> {
  const response: Partial<Response> | null | undefined = await deliver(request);
  const status = response?.status;
  if (!Number.isInteger(status))
    throw new TypeError(`the receiver returned ${getType(response)}, not a Response`);
  void discardBody(response?.body);
  return { status: status as number };
}

/** Only the status counts. The body is not read. */
async function discardBody(body: ReadableStream | null | undefined): Promise<void> {
  try {
    await body?.cancel();
  } catch {
    // already read, or not a stream
  }
}

async function withTimeout(
  ms: number,
  abort: AbortController,
  outcome: Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<AttemptOutcome>((resolve) => {
    timer = setTimeout(() => {
      resolve({ error: `no response within ${ms / 1000} s` });
      abort.abort();
    }, ms);
    (timer as { unref?: () => void }).unref?.();
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The code of a network error if it has one: "ECONNREFUSED" is more precise than "fetch failed". */
function formatError(error: unknown): string {
  if (!(error instanceof Error)) return `the receiver threw ${getType(error)}`;
  try {
    const { cause } = error as { cause?: { code?: unknown; message?: unknown } };
    return String(cause?.code || cause?.message || error.message);
  } catch {
    return "the receiver threw an error that cannot be read";
  }
}

const getType = (value: unknown) => (value === null ? "null" : typeof value);
