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

type AttemptOutcome = { status: number; body: Response["body"] | undefined } | { error: string };

export type AttemptResult = Omit<Attempt, "at" | "durationMs">;

/** Never rejects: a request that cannot be sent is a failed attempt. @param abort ends the attempt; the timeout uses it too. */
export async function sendAttempt(
  transport: DeliveryTransport,
  endpoint: Endpoint,
  delivery: Delivery,
  isDropped: boolean,
  abort: AbortController,
): Promise<AttemptResult> {
  const timestamp = Math.floor(transport.signingTimeMs() / 1000);
  const signed: Pick<AttemptResult, "signedAt" | "signedWith" | "signature"> = {
    signedAt: new Date(timestamp * 1000).toISOString(),
    signedWith: transport.signedWith,
  };
  if (isDropped) return { error: "dropped by an injected fault", ...signed };
  try {
    const signature = await signWebhook({ rawBody: delivery.body, secret: endpoint.secret, timestamp });
    const request = createRequest(endpoint, delivery, signature, abort.signal);
    signed.signature = signature;
    const outcome = await withTimeout(
      transport.deliveryTimeoutMs,
      abort,
      readResponse(transport.deliver, request),
    );
    if ("error" in outcome) return { ...outcome, ...signed };
    const responseBody = await readStart(outcome.body);
    return { status: outcome.status, ...(responseBody !== "" && { responseBody }), ...signed };
  } catch (error) {
    return { error: formatError(error), ...signed };
  }
}

function createRequest(
  endpoint: Endpoint,
  delivery: Delivery,
  signature: string,
  signal: AbortSignal,
): Request {
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

async function readResponse(deliver: Deliver, request: Request): Promise<AttemptOutcome> {
  const response: Partial<Response> | null | undefined = await deliver(request);
  const status = response?.status;
  if (!Number.isInteger(status))
    throw new TypeError(`the receiver returned ${getType(response)}, not a Response`);
  return { status: status as number, body: response?.body };
}

const maxBodyCharacters = 1_000;
const maxReadMs = 1_000;

/** Only the status counts; the body is for the reader of the log. A body that does not end, or is not a stream, does not fail the attempt. */
async function readStart(body: Response["body"] | undefined): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let text = "";
  try {
    const reader = body?.getReader();
    if (reader === undefined) return "";
    const cancel = () => void reader.cancel().catch(() => {}); // a pending read resolves
    timer = setTimeout(cancel, maxReadMs);
    const decoder = new TextDecoder();
    while (text.length < maxBodyCharacters) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    cancel();
  } catch {
    // The body was read already, it is not a stream of bytes, or the connection broke.
  } finally {
    clearTimeout(timer);
  }
  return text.slice(0, maxBodyCharacters);
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
