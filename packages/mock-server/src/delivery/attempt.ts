/** Sends a delivery once and waits for the answer: signed anew, ten seconds, no redirects (spec 6). */
import { signWebhook } from "@loyalty-cards/webhook-verify";
import type { Attempt, Delivery } from "./deliveries.ts";
import type { Endpoint } from "./endpoints.ts";

/** Takes a delivery's request and answers it; `fetch` does, and so does a receiver under test. */
export type Deliver = (request: Request) => Response | Promise<Response>;

export interface Transport {
  deliver: Deliver;
  /** Whose time goes into `t`. */
  signedWith: "service" | "machine";
  /** That time in milliseconds. */
  signingTimeMs: () => number;
  answerWithinMs: number;
}

type Answer = { status: number } | { error: string };

export type AttemptResult = Answer & Pick<Attempt, "signedAt" | "signedWith">;

/** Never rejects: what cannot even be sent is an attempt that failed. */
export async function attempt(
  transport: Transport,
  endpoint: Endpoint,
  delivery: Delivery,
  isDropped: boolean,
): Promise<AttemptResult> {
  const timestamp = Math.floor(transport.signingTimeMs() / 1000);
  const signature = {
    signedAt: new Date(timestamp * 1000).toISOString(),
    signedWith: transport.signedWith,
  };
  if (isDropped) return { error: "dropped on purpose, by a fault", ...signature };
  const timeout = new AbortController();
  try {
    const request = await requestOf(endpoint, delivery, timestamp, timeout.signal);
    const answer = await within(transport.answerWithinMs, timeout, answerOf(transport.deliver, request));
    return { ...answer, ...signature };
  } catch (error) {
    return { error: reasonOf(error), ...signature };
  }
}

async function requestOf(
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
    redirect: "manual", // spec 6.3.5: a redirect is an answer that is not 2xx
    signal,
  });
}

async function answerOf(deliver: Deliver, request: Request): Promise<Answer> {
  const response: Partial<Response> | null | undefined = await deliver(request);
  const status = response?.status;
  if (!Number.isInteger(status))
    throw new TypeError(`the receiver returned ${kindOf(response)}, not a Response`);
  void discard(response?.body);
  return { status: status as number };
}

/** The response is its status; the rest is not waited for. */
async function discard(body: ReadableStream | null | undefined): Promise<void> {
  try {
    await body?.cancel();
  } catch {
    // it was read, or is no stream
  }
}

async function within(ms: number, timeout: AbortController, answer: Promise<Answer>): Promise<Answer> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Answer>((resolve) => {
    timer = setTimeout(() => {
      resolve({ error: `no answer within ${ms / 1000} s` });
      timeout.abort();
    }, ms);
    (timer as { unref?: () => void }).unref?.();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The code of a network error when it has one: "ECONNREFUSED" says more than "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `the receiver threw ${kindOf(error)}`;
  try {
    const { cause } = error as { cause?: { code?: unknown; message?: unknown } };
    return String(cause?.code || cause?.message || error.message);
  } catch {
    return "the receiver threw an error that cannot be read";
  }
}

const kindOf = (value: unknown) => (value === null ? "null" : typeof value);
