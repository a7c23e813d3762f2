/** Receives a delivery: bytes in, answer out. The same for every framework; adapters only carry. */
import { type Answer, answers } from "./answer.ts";
import { deadline } from "./deadline.ts";
import type { DedupeStore } from "./dedupe.ts";
import type { WebhookEvent } from "./event.ts";
import { handingOver } from "./hand-over.ts";
import { headerOf, joinedHeaderOf, singleHeaderOf } from "./headers.ts";
import { type ReceiverOutcome, reporter } from "./outcome.ts";
import { checkedBody, RawBodyError, type ReadLimits } from "./raw-body.ts";
import type { Reading, ReceivedRequest } from "./reading.ts";
import { type SecretOption, secretSource } from "./secret-source.ts";
import type { SignatureHeader } from "./signature.ts";
import type { Delivery, Inbox } from "./take-over.ts";
import type { VerificationFault } from "./verification-error.ts";
import { checkBody, checkedTolerance, checkHeader, type Verified } from "./verify.ts";

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

  async function receive(request: ReceivedRequest): Promise<Answer> {
    const beganMs = performance.now();
    const startedAtMs = now();
    const report: Reading["report"] = (outcome, answer) =>
      reporting.report(outcome, answer, performance.now() - beganMs);
    const early = refusedUnread(request, report);
    if (early !== undefined) return early;

    const signature = headerOf(request.headers, "service-signature");
    const header = checkHeader(signature, { nowMs: startedAtMs, toleranceSeconds });
    if (typeof header === "string") return refused(report, header);

    const answerDue = deadline(answerWithinMs);
    try {
      const reading: Reading = { request, startedAtMs, due: answerDue.passed, report };
      const body = await bodyOf(reading);
      return body instanceof Uint8Array ? await verified(reading, header, body) : body;
    } finally {
      answerDue.cancel();
    }
  }

  function refusedUnread(request: ReceivedRequest, report: Reading["report"]): Answer | undefined {
    if (request.method.toUpperCase() !== "POST") {
      return report({ outcome: "rejected", reason: "not-post" }, answers.wrongMethod);
    }
    if ((limitsOf(request).expectedBytes ?? 0) > maxBodyBytes) {
      return report({ outcome: "rejected", reason: "too-large" }, answers.tooLarge);
    }
    // The signature covers the bytes before any compression; whether a framework inflates differs.
    const encoding = joinedHeaderOf(request.headers, "content-encoding") ?? "";
    if (!/^(identity)?$/i.test(encoding.trim())) {
      return report({ outcome: "rejected", reason: "encoded" }, answers.encoded);
    }
    return undefined;
  }

  function refused(report: Reading["report"], reason: VerificationFault): Answer {
    return report(
      { outcome: "rejected", reason },
      reason === "invalid-payload" ? answers.notAnEvent : answers.refused,
    );
  }

  function limitsOf({ headers }: ReceivedRequest): ReadLimits {
    const announced = singleHeaderOf(headers, "content-length") ?? "";
    return /^\d+$/.test(announced) ? { maxBodyBytes, expectedBytes: Number(announced) } : { maxBodyBytes };
  }

  async function bodyOf(reading: Reading): Promise<Uint8Array | Answer> {
    const { request, report, due } = reading;
    const { rawBody } = request;
    try {
      const read = typeof rawBody === "function" ? rawBody(limitsOf(request)) : rawBody;
      const raw = await Promise.race([read, due]);
      if (raw === undefined) return report({ outcome: "rejected", reason: "too-slow" }, answers.tooSlow);
      const body = checkedBody(raw);
      if (body.byteLength <= maxBodyBytes) return body;
      return report({ outcome: "rejected", reason: "too-large" }, answers.tooLarge);
    } catch (error) {
      const fault = error instanceof RawBodyError ? error.fault : "already-consumed";
      if (fault === "too-large") return report({ outcome: "rejected", reason: fault }, answers.tooLarge);
      if (fault === "unreadable") return report({ outcome: "rejected", reason: fault }, answers.unreadable);
      reporting.misconfigured(
        "the body was parsed before the webhook receiver saw it, and a signature covers bytes, not objects.",
        error instanceof RawBodyError ? error.fix : undefined,
      );
      return report({ outcome: "misconfigured", reason: fault }, answers.misconfigured);
    }
  }

  async function verified(reading: Reading, header: SignatureHeader, body: Uint8Array): Promise<Answer> {
    let result: Verified | VerificationFault | undefined;
    try {
      result = await Promise.race([judged(header, body, reading.startedAtMs), reading.due]);
    } catch {
      reporting.misconfigured(
        "the `secret` function gave no usable secret.",
        "Let it return the signing secret that the service showed once, and look why it did not.",
      );
      return reading.report({ outcome: "misconfigured", reason: "no-secret" }, answers.misconfigured);
    }
    if (result === undefined) {
      return reading.report({ outcome: "misconfigured", reason: "secret-too-slow" }, answers.notTakenOver);
    }
    if (typeof result === "string") return refused(reading.report, result);
    return handOver(reading, result, body);
  }

  async function judged(header: SignatureHeader, body: Uint8Array, nowMs: number) {
    const result = await checkBody(header, body, await secrets.current(nowMs), nowMs);
    const renewed = result === "mismatch" ? await secrets.renewed(nowMs) : undefined;
    return renewed === undefined ? result : checkBody(header, body, renewed, nowMs);
  }

  return receive;
}

function checkedLimit(name: string, value: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isFinite(value) && value > 0 && value <= most) return;
  throw new TypeError(`${name} must be a positive number, ${most} at most; it is ${value}.`);
}
