/**
 * Checks a running receiver from outside: sends valid and invalid deliveries, reports which
 * responses are wrong, and advises what to change.
 */
import { canForwardTo } from "@loyalty-cards/internal/hostnames";
import { adviseReceiver } from "@loyalty-cards/internal/receiver-advice";
import type { Result } from "@loyalty-cards/internal/result";
import { createReceiver, type Secret } from "@loyalty-cards/webhook-verify";
import {
  checks,
  createDeliveries,
  type Deliveries,
  type ReceiverCheck,
  type TestRequest,
} from "./checks.ts";

/** Which receiver to check, and how. */
export interface CheckReceiverOptions {
  /**
   * The receiver's address. Nothing is sent to any other address, and redirects are not followed.
   */
  url: string | URL;
  /** The signing secret of the receiver. */
  secret: Secret;
  fetch?: typeof globalThis.fetch;
  /** The receiver's tolerance in seconds. Default 300. */
  toleranceSeconds?: number;
  /**
   * The timeout of one delivery in milliseconds. Default 10 000, the timeout of the service
   * ([spec 6.3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-1)).
   */
  timeoutMs?: number;
  /**
   * The card of the `balance.changed` events. Set it when the handler fails for cards that it does
   * not know. Default `card_doctor`.
   */
  cardId?: string | undefined;
  signal?: AbortSignal;
  /** Called with each finding when its check has ended. */
  onFinding?: (finding: Finding) => void;
}

/** The names of the checks. They are stable, so that a test can expect a finding. */
type CheckName = "valid" | "response-time" | keyof typeof checks;

/** What one check found, and what to change. */
export interface Finding {
  check: CheckName;
  /** `warn`: allowed but not recommended. */
  verdict: "pass" | "fail" | "warn";
  /** The clause of the specification, e.g. `5.7`. */
  clause: string;
  /**
   * What was sent, in words; of a check that did not pass, the delivery with the wrong response.
   */
  sent: string;
  /** What the receiver did, in words. Contains the status of the response, never its body. */
  observed: string;
  /** What to change. Absent for `pass`. */
  advice?: string;
}

/** All findings of one receiver. */
export interface ReceiverReport {
  /** No check failed. There may be warnings. */
  passed: boolean;
  findings: Finding[];
}

/**
 * Sends about twenty-five deliveries, most of them pings, and two `balance.changed` of `cardId`: do
 * not run it against production data.
 * @throws {TypeError} for an invalid address or secret. Rejects with `signal.reason` when aborted.
 * @example
 * ```ts
 * import { checkReceiver } from "@loyalty-cards/mock-server/doctor";
 *
 * const secret = process.env.LOYALTY_SIGNING_SECRET ?? "";
 * const { passed, findings } = await checkReceiver({ url: "http://127.0.0.1:3000/webhooks/loyalty", secret });
 * for (const { check, verdict, observed, advice } of findings) {
 *   if (verdict !== "pass") console.log(`${verdict} ${check}: it ${observed}. ${advice}`);
 * }
 * process.exitCode = passed ? 0 : 1;
 * ```
 */
export async function checkReceiver(options: CheckReceiverOptions): Promise<ReceiverReport> {
  if (typeof options !== "object" || options?.url === undefined)
    throw new TypeError(
      "checkReceiver takes one object with a url: checkReceiver({ url, secret }).",
    );
  const { secret, toleranceSeconds = 300, timeoutMs = 10_000, onFinding, signal } = options;
  const { cardId = "card_doctor" } = options;
  createReceiver({ secret, toleranceSeconds, handler() {} }); // it rejects invalid options
  const url = parseUrl(options.url);
  const send = createSender({ url: url.href, fetch: options.fetch ?? fetch, timeoutMs, signal });
  const deliveries = createDeliveries(secret, toleranceSeconds, cardId);
  const findings: Finding[] = [];
  function addFinding(finding: Finding): void {
    findings.push(finding);
    onFinding?.(finding);
  }

  const response = await send(deliveries.signed());
  const { value: observed, failure } = judge(response, "2xx");
  if (failure !== undefined) {
    // A receiver that rejects a valid delivery rejects the others for the same reason, so the other
    // checks would prove nothing.
    const isParsed = await isRejectedByParser(response, deliveries, send);
    const advice = isParsed ? parserAdvice : adviseReceiver(response, url);
    addFinding({ ...validPing, verdict: "fail", observed: failure, advice });
    return { passed: false, findings };
  }
  addFinding({ ...validPing, verdict: "pass", observed });
  if (response.durationMs > timeoutMs / 2) addFinding(createSlowFinding(response));
  for (const [name, check] of Object.entries(checks) as [CheckName, ReceiverCheck][]) {
    const isSkipped = check.isOfSignature && hasFailed("forged", findings);
    if (!isSkipped) addFinding(await runCheck(name, check, { url, deliveries, send }));
  }
  return { passed: findings.every(({ verdict }) => verdict !== "fail"), findings };
}

const validPing = {
  check: "valid",
  clause: "6.3.1",
  sent: "a ping as the service signs it",
} as const;

const createSlowFinding = ({ durationMs }: TestResponse): Finding => ({
  check: "response-time",
  verdict: "warn",
  clause: "6.3.6",
  sent: validPing.sent,
  observed: `responded in ${Math.round(durationMs)} ms`,
  advice: "Respond first and work afterwards: the service waits 10 seconds.",
});

const hasFailed = (name: CheckName, findings: readonly Finding[]) =>
  findings.some(({ check, verdict }) => check === name && verdict === "fail");

/** Sends the requests of a check until a response is wrong. */
async function runCheck(
  name: CheckName,
  check: ReceiverCheck,
  { url, deliveries, send }: { url: URL; deliveries: Deliveries; send: Send },
): Promise<Finding> {
  const { clause, expects, advice, isAdvisory } = check;
  const requests = Object.entries(check.requests(deliveries));
  let lastObserved = "";
  for (const [sent, request] of requests) {
    const response = await send(request);
    const { value: observed, failure } = judge(response, expects);
    if (failure !== undefined) {
      const verdict = isAdvisory ? "warn" : "fail";
      const isServerError = expects === "2xx" && (response.status ?? 0) >= 500;
      const change = isServerError ? `${adviseReceiver(response, url)} ${advice}` : advice;
      return { check: name, verdict, clause, sent, observed: failure, advice: change };
    }
    lastObserved = observed;
  }
  const sent = requests.map(([what]) => what).join("; ");
  return { check: name, verdict: "pass", clause, sent, observed: lastObserved };
}

/** Whether a valid delivery is accepted with a content type that no parser reads. */
async function isRejectedByParser(
  { status = 0 }: TestResponse,
  deliveries: Deliveries,
  send: Send,
): Promise<boolean> {
  if (![400, 401, 415, 500].includes(status)) return false;
  const { headers, ...ping } = deliveries.signed();
  const contentType = { "content-type": "application/octet-stream" };
  const response = await send({ ...ping, headers: { ...headers, ...contentType } });
  return judge(response, "2xx").failure === undefined;
}

/** @throws {TypeError} for an address that fetch or the service would not accept. */
function parseUrl(address: string | URL): URL {
  const url = new URL(address);
  if (url.username !== "" || url.password !== "")
    throw new TypeError("url contains a user name or a password; remove it.");
  if (canForwardTo(url)) return url;
  // spec 6.3.5
  throw new TypeError(
    "url must use https: the service delivers to https only. http is for receivers on this machine or in its network.",
  );
}

interface TestResponse {
  /** Absent when there was no response. 0 for a redirect whose status the runtime hides. */
  status?: number;
  /** Why there was no response: `timeout`, or the code of the connection. */
  error?: string;
  durationMs: number;
}

type Send = (request: TestRequest) => Promise<TestResponse>;

/**
 * Creates a function that sends a request, and again when the connection was closed. It rejects
 * only when the signal aborts.
 */
function createSender({
  url,
  fetch,
  timeoutMs,
  signal,
}: {
  url: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}): Send {
  async function sendOnce({ method = "POST", headers, body }: TestRequest): Promise<TestResponse> {
    signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    const signals = signal === undefined ? [timeout] : [timeout, signal];
    const startedMs = performance.now();
    try {
      const response = await fetch(url, {
        method,
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.any(signals),
      } as RequestInit);
      const durationMs = performance.now() - startedMs;
      void response.body?.cancel().catch(() => {}); // only the status matters
      return { status: response.status, durationMs };
    } catch (thrown) {
      signal?.throwIfAborted();
      const { cause } = thrown as { cause?: { code?: unknown } };
      const error = timeout.aborted ? "timeout" : String(cause?.code ?? "no connection");
      return { error, durationMs: performance.now() - startedMs };
    }
  }
  return async (request) => {
    const response = await sendOnce(request);
    const { status, error } = response;
    // The receiver may have closed an idle connection at the moment it was reused.
    return status === undefined && error !== "timeout" ? sendOnce(request) : response;
  };
}

/** @returns what the receiver did, in words; as the failure when that is wrong. */
function judge(response: TestResponse, expects: ReceiverCheck["expects"]): Result<string, string> {
  const { status } = response;
  const observed = describe(response);
  if (status === undefined) return { failure: observed };
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  // spec 6.3.5
  if (isRedirect) return { failure: `${observed}, and the service does not follow redirects` };
  const statusClass = `${Math.floor(status / 100)}xx`;
  return expects.includes(statusClass) ? { value: observed } : { failure: observed };
}

function describe({ status, error, durationMs }: TestResponse): string {
  if (status !== undefined) return `responded ${status}`;
  return error === "timeout"
    ? `did not respond in ${Math.round(durationMs)} ms`
    : `did not respond: ${error}`;
}

const parserAdvice =
  "A parser reads the body before the receiver: the same delivery is accepted with another content type than JSON. Mount the receiver above express.json(), bodyParser() and the like, or skip its path in them.";
