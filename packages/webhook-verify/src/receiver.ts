/** Receives a delivery: bytes in, answer out. The same for every framework; adapters only carry. */
import { type Answer, answers } from "./answer.ts";
import type { DedupeStore } from "./dedupe.ts";
import type { WebhookEvent } from "./event.ts";
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
  /** The signing secret, several, or a function that finds them; its answer is kept and renewed after a mismatch. */
  secret: SecretOption;
  /** How far `t` may be from now, either way, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** Larger bodies are answered 413, unread. In bytes, default 1 MiB. */
  maxBodyBytes?: number;
  /** The present in milliseconds. Default `Date.now`. */
  now?: () => number;
  /** A durable store; the answer waits for it. */
  inbox?: Inbox;
  /** Awaited before the answer. A rejection is answered 503, so the service delivers again. */
  accept?: (event: WebhookEvent, delivery: Delivery) => void | Promise<void>;
  /** Runs after the answer, and is lost if the process dies: use an inbox when that matters. */
  process?: (event: WebhookEvent, delivery: Delivery) => void | Promise<void>;
  /** Remembers event ids, so that `accept` and `process` see each event once. */
  dedupe?: DedupeStore;
  /** Past this many milliseconds the answer is 503 and the service delivers again. Default 8 000; it waits 10 000. */
  answerWithinMs?: number;
  /** Told of every delivery, for metrics. Carries no personal data. */
  onOutcome?: (outcome: ReceiverOutcome) => void;
  /** Where faults of the program are reported, each with its fix. Default `console.error`. */
  log?: (message: string) => void;
}

/** Takes a delivery and says what to answer. */
export type Receiver = (request: ReceivedRequest) => Promise<Answer>;

/**
 * Makes a receiver that no framework is needed for.
 * @throws {TypeError} for a missing or empty secret, a tolerance or a limit that is not a number.
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  if (typeof options !== "object" || options === null)
    throw new TypeError("The receiver needs options: { secret, accept }.");
  const { now = Date.now, maxBodyBytes = 1024 * 1024, answerWithinMs = 8_000 } = options;
  const toleranceSeconds = checkedTolerance(options.toleranceSeconds);
  checkedLimit("maxBodyBytes", maxBodyBytes);
  checkedLimit("answerWithinMs", answerWithinMs, 2 ** 31 - 1); // what a timer can hold
  const secrets = secretSource(options.secret);
  const reporting = reporter(options);
  const handOver = handingOver(options, reporting);
  const limit = timeLimit(answerWithinMs);

  // Not async: the promise of the answer is made where it is raced against the clock.
  function receive(request: ReceivedRequest): Promise<Answer> {
    const reading = new Reading(request, now(), reporting);
    const limits = limitsOf(request);
    const early = refusedUnread(reading, limits);
    if (early !== undefined) return Promise.resolve(early);

    const signature = headerOf(request.headers, "service-signature");
    const header = checkHeader(signature, { nowMs: reading.startedAtMs, toleranceSeconds });
    if (typeof header === "string") return Promise.resolve(reading.rejected(header, answers.refused));
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
    reading.whenDue = () => reading.misconfigured("secret-too-slow", answers.notTakenOver);
    let result: Verified | VerificationFault;
    try {
      const nowMs = reading.startedAtMs;
      result = await checkBody({ header, body, nowMs, keys: await secrets.current(nowMs) });
      if (result === "mismatch") result = await judgedAnew(header, body, nowMs);
    } catch {
      reporting.misconfigured(
        "the `secret` function gave no usable secret.",
        "Let it return the signing secret that the service showed once, and look why it did not.",
      );
      return reading.misconfigured("no-secret", answers.misconfigured);
    }
    if (result === "invalid-payload") return reading.rejected(result, answers.notAnEvent);
    if (typeof result === "string") return reading.rejected(result, answers.refused);
    // What was answered 408 or 503 comes again: nothing may begin for this copy.
    return reading.isDue ? answers.notTakenOver : await handOver(reading, result, body);
  }

  function withoutBody(reading: Reading, error: unknown): Answer {
    const { fault, fix } = error instanceof RawBodyError ? error : new RawBodyError("already-consumed");
    if (fault === "too-large") return reading.rejected(fault, answers.tooLarge);
    if (fault === "unreadable") return reading.rejected(fault, answers.unreadable);
    reporting.misconfigured(
      "the body was parsed before the webhook receiver saw it, and a signature covers bytes, not objects.",
      fix,
    );
    return reading.misconfigured(fault, answers.misconfigured);
  }

  async function judgedAnew(header: FreshHeader, body: Uint8Array, nowMs: number) {
    const keys = await secrets.renewed(nowMs);
    return keys === undefined ? "mismatch" : checkBody({ header, body, nowMs, keys });
  }

  return receive;
}

function checkedLimit(name: string, value: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isFinite(value) && value > 0 && value <= most) return;
  throw new TypeError(`${name} must be a positive number, ${most} at most; it is ${value}.`);
}
