/**
 * One delivery attempt: signs the body, sends it, and waits up to ten seconds for the response
 * (spec 6).
 */
import { copyStart, formatType } from "@loyalty-cards/internal/format";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import type { Attempt, Delivery, Endpoint } from "../domain/state.ts";

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

interface AttemptToSend {
  endpoint: Endpoint;
  delivery: Delivery;
  /** Ends the attempt; the timeout uses it too. */
  abort: AbortController;
}

/** Never rejects: a request that cannot be sent is a failed attempt. */
export async function sendAttempt(
  transport: DeliveryTransport,
  { endpoint, delivery, abort }: AttemptToSend,
): Promise<Omit<Attempt, "at">> {
  const { deliver, deliveryTimeoutMs } = transport;
  const startedMs = performance.now();
  const { timestamp, signed } = readSigningTime(transport);
  const getDurationMs = () => Math.round(performance.now() - startedMs);
  const timeout = startTimeout(deliveryTimeoutMs, abort);
  let signature: string | undefined;
  try {
    signature = await signWebhook({ rawBody: delivery.body, secret: endpoint.secret, timestamp });
    abort.signal.throwIfAborted();
    const request = createRequest(endpoint, delivery, { signature, signal: abort.signal });
    const response = await Promise.race([deliver(request), timeout.aborted]);
    const status = getStatus(response);
    timeout.cancel();
    const responseBody = await readStart(response.body);
    const result = { status, ...(responseBody !== "" && { responseBody }) };
    return { ...result, signature, ...signed, durationMs: getDurationMs() };
  } catch (error) {
    const result = { error: formatError(error), ...(signature !== undefined && { signature }) };
    return { ...result, ...signed, durationMs: getDurationMs() };
  } finally {
    timeout.cancel();
  }
}

function readSigningTime({ signedWith, signingTimeMs }: DeliveryTransport) {
  const timestamp = Math.floor(signingTimeMs() / 1000);
  return { timestamp, signed: { signedAt: new Date(timestamp * 1000).toISOString(), signedWith } };
}

/** The result of an injected fault: the receiver does not get the request. */
export const createFailedAttempt = (
  transport: DeliveryTransport,
  { status }: Pick<Attempt, "status">,
): Omit<Attempt, "at"> => ({
  ...(status !== undefined && { status }),
  error: "injected fault; not sent",
  ...readSigningTime(transport).signed,
  durationMs: 0,
});

/**
 * @returns a promise that rejects when the attempt is aborted, by the timeout or otherwise. The
 * timer keeps no process alive.
 */
function startTimeout(ms: number, abort: AbortController) {
  const { signal } = abort;
  const expire = () => abort.abort(new Error(`no response within ${ms / 1000} s`));
  const timer = setTimeout(expire, ms);
  (timer as { unref?: () => void }).unref?.();
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason)),
  );
  aborted.catch(() => {}); // it may be rejected before it is awaited
  return { aborted, cancel: () => clearTimeout(timer) };
}

/** @throws {TypeError} for what a function of a test returned by mistake. */
function getStatus(response: Response | undefined | null): number {
  const status = response?.status;
  if (!Number.isInteger(status))
    throw new TypeError(`the receiver returned ${formatType(response)}, not a Response`);
  return status as number;
}

const createRequest = (
  endpoint: Endpoint,
  delivery: Delivery,
  { signature, signal }: { signature: string; signal: AbortSignal },
) =>
  new Request(endpoint.url, {
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

const maxBodyCharacters = 1_000;
const maxReadMs = 1_000;

/**
 * Only the status counts; the body is for the reader of the log. A body that does not end, or is
 * not a stream, does not fail the attempt.
 */
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
  return copyStart(text, maxBodyCharacters);
}

/**
 * The code of a network error if it has one: "ECONNREFUSED" is more precise than "fetch failed".
 */
function formatError(error: unknown): string {
  if (!(error instanceof Error)) return `the receiver threw ${formatType(error)}`;
  const { cause } = error as { cause?: { code?: unknown; message?: unknown } };
  return String(cause?.code || cause?.message || error.message);
}
