/** Receives a delivery: bytes in, answer out. The same for every framework; adapters only carry. */
import { type Answer, answers } from "./answer.ts";
import { isTimeMs, readClock } from "./clock.ts";
import type { DedupeStore } from "./dedupe.ts";
import { parseEvent, type WebhookEvent } from "./event.ts";
import { handingOver } from "./hand-over.ts";
import { headerOf, joinedHeaderOf, singleHeaderOf } from "./headers.ts";
import { type ReceiverOutcome, reporter } from "./outcome.ts";
import { checkedBody, RawBodyError, type ReadLimits } from "./raw-body.ts";
import { Reading, type ReceivedRequest } from "./reading.ts";
import { type SecretOption, secretSource } from "./secret-source.ts";
import type { Delivery, Inbox } from "./take-over.ts";
import { timeLimit } from "./time-limit.ts";
import type { VerificationFault } from "./verification-error.ts";
import { checkBody, checkedTolerance, checkHeader, type FreshHeader, type Verified } from "./verify.ts";

/** Which secret to trust, and what becomes of an event before and after the answer. */
export interface ReceiverOptions {
  /** The signing secret, several, or a function that looks them up; its result is kept for `secretMaxAgeSeconds`. */
  secret: SecretOption;
  /**
   * How long the result of a `secret` function is used, in seconds. Default 300. After that the function is asked again before
   * anything is verified, so a secret that was replaced, or has leaked, stops working in every process, also in one that gets no
   * delivery. When the function fails then, the response is 500 and the service delivers again. After four fifths of the time
   * it is asked in the background, so deliveries rarely wait.
   */
  secretMaxAgeSeconds?: number;
  /** How far `t` may be from now, either way, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** Larger bodies are answered 413, unread. In bytes, default 1 MiB. */
  maxBodyBytes?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. It is checked here and for each delivery. */
  now?: () => number;
  /**
   * Milliseconds by a clock that is never set, for the age of looked-up secrets, the pauses between look-ups and those between log
   * lines. Default `performance.now`. Tests pass their own.
   */
  monotonicNow?: () => number;
  /** A durable store; the answer waits for it. */
  inbox?: Inbox;
  /** Awaited before the answer, whatever it returns. A rejection is answered 503, so the service delivers again. */
  accept?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Runs after the answer, and is lost if the process dies: use an inbox when that matters. */
  process?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Remembers event ids, so that `accept` and `process` see each event once. */
  dedupe?: DedupeStore;
  /** Past this many milliseconds the answer is 503 and the service delivers again. Default 8 000; it waits 10 000. */
  answerWithinMs?: number;
  /**
   * Called with the outcome of every delivery, for metrics. Carries no personal data. Without it, rejected deliveries are in `log`:
   * at most one line a minute for each reason, with the number of those that were left out.
   */
  onOutcome?: (outcome: ReceiverOutcome) => void;
  /** Where faults of the program are reported, each with its fix. Default `console.error`. */
  log?: (message: string) => void;
}

/** Takes a delivery and says what to answer. Neither throws nor rejects: whatever fails inside is an answer and a log line. */
export type Receiver = (request: ReceivedRequest) => Promise<Answer>;

/**
 * Makes a receiver that no framework is needed for.
 * @throws {TypeError} for a missing or empty secret, a tolerance or a limit that is not a number, a `now` that returns no
 * milliseconds.
 * @example
 * ```ts
 * import { createReceiver, onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const receive = createReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   accept: onEvents({ "balance.changed": ({ data }) => console.log(data.balance), other: () => {} }),
 * });
 * // For a framework without an adapter: the bytes as they arrived, and the response as it has to be.
 * export const handle = async (method: string, headers: Headers, rawBody: Uint8Array) => {
 *   const { status, headers: responseHeaders } = await receive({ method, headers, rawBody });
 *   return new Response(null, { status, headers: responseHeaders });
 * };
 * ```
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  if (typeof options !== "object" || options === null)
    throw new TypeError("The receiver needs options: { secret, accept }.");
  const { now = Date.now, maxBodyBytes = 1024 * 1024, answerWithinMs = 8_000 } = options;
  const { secretMaxAgeSeconds = 300, monotonicNow = () => performance.now() } = options;
  const toleranceSeconds = checkedTolerance(options.toleranceSeconds);
  checkedLimit("maxBodyBytes", maxBodyBytes);
  checkedLimit("answerWithinMs", answerWithinMs, 2 ** 31 - 1); // what a timer can hold
  checkedLimit("secretMaxAgeSeconds", secretMaxAgeSeconds);
  readClock("monotonicNow", monotonicNow);
  const secrets = secretSource(options.secret, {
    maxAgeMs: secretMaxAgeSeconds * 1000,
    monotonicNow: () => readClock("monotonicNow", monotonicNow),
  });
  const reporting = reporter(options);
  const handOver = handingOver(options, reporting);
  const limit = timeLimit(answerWithinMs);
  readClock("now", now); // a mistake shows here, not with the first delivery

  function receive(request: ReceivedRequest): Promise<Answer> {
    try {
      return begin(request);
    } catch (error) {
      return Promise.resolve(new Reading(request, Number.NaN, reporting).unexpectedError(error));
    }
  }

  // Not async: the promise of the answer is made where it is raced against the clock.
  function begin(request: ReceivedRequest): Promise<Answer> {
    const startedAtMs = now();
    if (!isTimeMs(startedAtMs)) return Promise.resolve(withoutClock(request));
    const reading = new Reading(request, startedAtMs, reporting);
    const limits = limitsOf(request);
    const early = refusedUnread(reading, limits);
    if (early !== undefined) return Promise.resolve(early);

    const signature = headerOf(request.headers, "service-signature");
    const header = checkHeader(signature, { nowMs: reading.startedAtMs, toleranceSeconds });
    if ("reason" in header)
      return Promise.resolve(reading.rejected(header.reason, answers.refused, header.skewSeconds));
    return reading.answerWithin(limit, answerTo(reading, header, limits));
  }

  function limitsOf({ headers }: ReceivedRequest): ReadLimits {
    const announced = singleHeaderOf(headers, "content-length") ?? "";
    return /^\d+$/.test(announced) ? { maxBodyBytes, expectedBytes: Number(announced) } : { maxBodyBytes };
  }

  function refusedUnread(reading: Reading, { expectedBytes = 0 }: ReadLimits): Answer | undefined {
    const { method, headers } = reading.request;
    if (method.toUpperCase() !== "POST") return reading.rejected("not-post", answers.wrongMethod);
    if (expectedBytes > maxBodyBytes) return reading.rejected("too-large", answers.tooLarge);
    // The signature covers the bytes before any compression; whether a framework inflates differs.
    const encoding = joinedHeaderOf(headers, "content-encoding");
    if (encoding !== undefined && !/^(identity)?$/i.test(encoding.trim()))
      return reading.rejected("encoded", answers.encoded);
    return undefined;
  }

  async function answerTo(reading: Reading, header: FreshHeader, limits: ReadLimits): Promise<Answer> {
    const { rawBody } = reading.request;
    let body: Uint8Array;
    try {
      body = checkedBody(await (typeof rawBody === "function" ? rawBody(limits) : rawBody));
      if (body.byteLength > maxBodyBytes) throw new RawBodyError("too-large");
    } catch (error) {
      return withoutBody(reading, error);
    }
    reading.whenDue = () => {
      reporting.misconfigured(
        "secret-too-slow",
        "the `secret` function took longer than answerWithinMs; responded 503, so the service delivers it again.",
        "Let it give up sooner, or look why it did not.",
      );
      return reading.misconfigured("secret-too-slow", answers.notTakenOver);
    };
    let result: Verified | VerificationFault;
    try {
      const nowMs = reading.startedAtMs;
      result = await checkBody({ header, body, nowMs, keys: await secrets.current() });
      if (result === "mismatch") result = await judgedAnew(header, body, nowMs);
    } catch {
      reporting.misconfigured(
        "no-secret",
        "the `secret` function gave no usable secret.",
        "Let it return the signing secret that the service showed once, and look why it did not.",
      );
      return reading.misconfigured("no-secret", answers.misconfigured);
    }
    if (result === "invalid-payload") {
      reporting.notAnEvent(String(parseEvent(body)));
      return reading.rejected(result, answers.notAnEvent);
    }
    if (typeof result === "string") return reading.rejected(result, answers.refused);
    // What was answered 408 or 503 comes again: nothing may begin for this copy.
    return reading.isDue ? answers.notTakenOver : await handOver(reading, result, body);
  }

  function withoutBody(reading: Reading, error: unknown): Answer {
    const { fault, fix } = error instanceof RawBodyError ? error : new RawBodyError("already-consumed");
    if (fault === "too-large") return reading.rejected(fault, answers.tooLarge);
    if (fault === "unreadable") return reading.rejected(fault, answers.unreadable);
    reporting.misconfigured(
      fault,
      "the body was parsed before the webhook receiver saw it, and a signature covers bytes, not objects.",
      fix,
    );
    return reading.misconfigured(fault, answers.misconfigured);
  }

  /** Without a time nothing can be told fresh from stale. */
  function withoutClock(request: ReceivedRequest): Answer {
    reporting.misconfigured(
      "invalid-clock",
      "the `now` function gave no milliseconds.",
      "Let it return a number, as Date.now does; for a Date that is date.getTime().",
    );
    return new Reading(request, Number.NaN, reporting).misconfigured("invalid-clock", answers.misconfigured);
  }

  async function judgedAnew(header: FreshHeader, body: Uint8Array, nowMs: number) {
    const keys = await secrets.renewed();
    return keys === undefined ? "mismatch" : checkBody({ header, body, nowMs, keys });
  }

  return receive;
}

function checkedLimit(name: string, value: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isFinite(value) && value > 0 && value <= most) return;
  throw new TypeError(`${name} must be a positive number, ${most} at most; it is ${value}.`);
}
