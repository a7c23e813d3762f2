/** Receives a delivery, for any framework: checks the header, reads and verifies the body, accepts the event, responds. */
import {
  getFirstHeader,
  getHeader,
  type HeadersLike,
  type RawBody,
  RawBodyError,
  type ReadLimits,
  toBytes,
} from "./body.ts";
import { isTimeMs } from "./clock.ts";
import { type HandlingResult, handleOnce, VerifiedDelivery } from "./delivery.ts";
import { findUnexpectedData, type WebhookEvent } from "./event.ts";
import { parseOptions, type ReceiverKind, type ReceiverOptions } from "./options.ts";
import {
  createReporter,
  type Misconfiguration,
  type Outcome,
  type Rejected,
  type Reporter,
  type VerifiedFacts,
} from "./reporter.ts";
import {
  misconfigurationResponses,
  type ReceiverResponse,
  rejectionResponses,
  unavailable,
} from "./responses.ts";
import { describeSecretFailure } from "./secrets.ts";
import type { VerificationFailure } from "./signature.ts";
import { checkBody, checkHeader, type FreshHeader, type Verified } from "./verify.ts";

/** The parts of a request that a receiver needs. */
export interface ReceivedRequest {
  method: string;
  headers: HeadersLike;
  /** The bytes that arrived, or a function that reads them; it is called only when the header is valid. */
  rawBody: RawBody | ((limits: ReadLimits) => Promise<RawBody>);
}

/** Takes a delivery and returns the response. Never throws or rejects: an error becomes a response and a log line. */
export type Receiver = (request: ReceivedRequest) => Promise<ReceiverResponse>;

/** The state of one delivery while it is received. */
interface Reception {
  readonly request: ReceivedRequest;
  /** When the request arrived, by `performance.now()`. */
  readonly startedMs: number;
  /** What the receiver waits for. It decides the response to a timeout. */
  stage: "body" | "secret" | "handler";
  /** The response was sent before the work ended; nothing is reported after it. */
  hasTimedOut: boolean;
  /** Set in the stage `handler`. */
  delivery?: VerifiedDelivery;
  getFacts?: () => VerifiedFacts;
}

/**
 * Creates a receiver that needs no framework. Without `handler`, `afterResponse` and `inbox`, handle the `event` of the response
 * before you send it.
 * @throws {TypeError} for an option with an unknown name, a handler that is not a function, a missing or empty secret, a tolerance or
 * a limit that is not a number, a `now` that does not return milliseconds, and for `dedupe` without a handler.
 * @example
 * ```ts
 * import { createReceiver, onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const receive = createReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   handler: onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} }),
 * });
 * // For a framework without an adapter: pass the bytes as they arrived, and send the response unchanged.
 * export const handle = async (method: string, headers: Headers, rawBody: Uint8Array) => {
 *   const { status, headers: responseHeaders } = await receive({ method, headers, rawBody });
 *   return new Response(null, { status, headers: responseHeaders });
 * };
 * ```
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  return createReceiverOf({ name: "createReceiver", returnsEvent: true }, options).receive;
}

/** {@link createReceiver} for an adapter, which also reports its own errors. */
export function createReceiverOf(
  kind: ReceiverKind,
  options: ReceiverOptions,
): { receive: Receiver; reporter: Reporter } {
  const settings = parseOptions(options, kind);
  const { now, maxBodyBytes, timeoutMs, toleranceSeconds, secretSource } = settings;
  const { afterResponse } = options;
  const reporter = createReporter(options, settings.monotonicMs);
  if (kind.triesSecretAtStart ?? true) {
    secretSource.tryAtStart((error) => reporter.logSecretAtStart(describeSecretFailure(error, options)));
  }

  // Not async: the only promise is the one of `respondInTime`.
  function receive(request: ReceivedRequest): Promise<ReceiverResponse> {
    const reception: Reception = { request, startedMs: performance.now(), stage: "body", hasTimedOut: false };
    try {
      const nowMs = now();
      if (!isTimeMs(nowMs)) return Promise.resolve(failMisconfigured(reception, "invalid-clock"));
      const { headers } = request;
      const limits = getReadLimits(headers, maxBodyBytes);
      const header =
        checkRequest(request, limits) ??
        checkHeader(getHeader(headers, "service-signature"), { nowMs, toleranceSeconds });
      if ("reason" in header) return Promise.resolve(reject(reception, header));
      return respondInTime(reception, verifyAndHandle(reception, header, limits, nowMs));
    } catch (error) {
      return Promise.resolve(failUnexpectedly(reception, error));
    }
  }

  async function verifyAndHandle(
    reception: Reception,
    header: FreshHeader,
    limits: ReadLimits,
    nowMs: number,
  ): Promise<ReceiverResponse> {
    let body: Uint8Array | undefined;
    try {
      const { request } = reception;
      body = toBytes(typeof request.rawBody === "function" ? await request.rawBody(limits) : request.rawBody);
      if (body === undefined) throw new RawBodyError("already-consumed");
      if (body.byteLength > maxBodyBytes) throw new RawBodyError("too-large");
    } catch (error) {
      const reason = error instanceof RawBodyError ? error.reason : "already-consumed";
      return reason === "already-consumed"
        ? failMisconfigured(reception, reason, kind.fix)
        : reject(reception, { reason });
    }

    reception.stage = "secret";
    let result: Verified | VerificationFailure | Promise<Verified | VerificationFailure>;
    try {
      let keys = secretSource.current();
      if (keys instanceof Promise) keys = await keys;
      result = checkBody({ header, body, nowMs, keys });
      if (result instanceof Promise) result = await result;
      if ("reason" in result && result.reason === "mismatch") {
        const reloaded = await secretSource.reload(); // the secret may have been replaced
        if (reloaded !== undefined) result = await checkBody({ header, body, nowMs, keys: reloaded });
      }
    } catch (error) {
      return failMisconfigured(reception, "no-secret", describeSecretFailure(error, options));
    }
    if ("reason" in result) return reject(reception, result);
    // After 408 or 503 the service delivers again, so this delivery must not be accepted.
    if (reception.hasTimedOut) return unavailable;

    const delivery = new VerifiedDelivery(reception.request.headers, body, nowMs);
    reception.delivery = delivery;
    reception.getFacts = collectFacts(reception, result);
    reception.stage = "handler";
    let handled = handleOnce(options, result.event, delivery);
    if (handled instanceof Promise) handled = await handled;
    return respondToEvent(reception, result.event, delivery, handled);
  }

  /** Logs unexpected data. @returns a function that creates the facts, which only a listener needs. */
  function collectFacts({ request }: Reception, { event, key, skewSeconds }: Verified): () => VerifiedFacts {
    const { id, type } = event;
    const unexpectedData = findUnexpectedData(event);
    if (unexpectedData.length > 0) reporter.logUnexpectedData(event, unexpectedData);
    return () => ({
      event: { id, type },
      secretId: key.id,
      skewSeconds,
      eventTypeMismatch: (getFirstHeader(request.headers, "service-event") ?? type) !== type, // the header is not signed
      ...(unexpectedData.length > 0 && { unexpectedData }),
    });
  }

  function respondToEvent(
    reception: Reception,
    event: WebhookEvent,
    delivery: VerifiedDelivery,
    result: HandlingResult,
  ): ReceiverResponse {
    const getFacts = reception.getFacts as () => VerifiedFacts;
    if (result.outcome === "failed") {
      const { outcome, error } = result;
      reporter.logHandlerError(event, error);
      const reason = "handler-error";
      return respond(reception, unavailable, () => ({ outcome, reason, error, ...getFacts() }));
    }
    const { outcome } = result;
    const response: ReceiverResponse =
      outcome === "in-progress" ? unavailable : { status: 204, headers: {}, event };
    if (afterResponse !== undefined && (outcome === "verified" || outcome === "stored")) {
      response.afterResponse = async () => {
        try {
          await afterResponse(event, delivery);
        } catch (error) {
          reporter.afterResponseFailed(event, error);
        }
      };
    }
    return respond(reception, response, () => ({ outcome, ...getFacts() }));
  }

  /** Never rejects. Resolves with the response of the work, or after `timeoutMs` with that of the timeout. The work continues. */
  function respondInTime(reception: Reception, work: Promise<ReceiverResponse>): Promise<ReceiverResponse> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        try {
          resolve(respondToTimeout(reception));
        } catch (error) {
          resolve(failUnexpectedly(reception, error)); // thrown from a timer, it would end the process
        }
        reception.hasTimedOut = true;
      }, timeoutMs);
      const complete = (response: ReceiverResponse) => {
        clearTimeout(timer);
        if (reception.hasTimedOut) void response.afterResponse?.();
        resolve(response);
      };
      work.then(complete, (error) => complete(failUnexpectedly(reception, error)));
    });
  }

  function respondToTimeout(reception: Reception): ReceiverResponse {
    if (reception.stage === "body") return reject(reception, { reason: "timeout" });
    if (reception.stage === "secret") return failMisconfigured(reception, "secret-timeout");
    reception.delivery?.abort();
    reporter.logHandlerTimeout();
    const getFacts = reception.getFacts as () => VerifiedFacts;
    return respond(reception, unavailable, () => ({ outcome: "failed", reason: "timeout", ...getFacts() }));
  }

  function reject(reception: Reception, rejected: Rejected): ReceiverResponse {
    if (!reception.hasTimedOut) reporter.logRejection(rejected);
    const { reason, skewSeconds } = rejected;
    const skew = skewSeconds !== undefined && { skewSeconds };
    return respond(reception, rejectionResponses[reason], () => ({ outcome: "rejected", reason, ...skew }));
  }

  function failMisconfigured(
    reception: Reception,
    reason: Misconfiguration,
    detail?: string,
  ): ReceiverResponse {
    reporter.logMisconfiguration(reason, detail);
    return respond(reception, misconfigurationResponses[reason], () => ({
      outcome: "misconfigured",
      reason,
    }));
  }

  /** Handles an error that nothing should throw: responds 503, so that the service delivers again. */
  function failUnexpectedly(reception: Reception, error: unknown): ReceiverResponse {
    reporter.logUnexpectedError(error, "responded 503, so the service delivers again.");
    return respond(reception, unavailable, () => ({ outcome: "error", error }));
  }

  /** Reports one outcome per delivery. */
  function respond(
    reception: Reception,
    response: ReceiverResponse,
    getOutcome: () => Outcome,
  ): ReceiverResponse {
    if (!reception.hasTimedOut) reporter.report(getOutcome, response.status, reception.startedMs);
    return response;
  }

  return { receive, reporter };
}

function getReadLimits(headers: HeadersLike, maxBodyBytes: number): ReadLimits {
  const length = getFirstHeader(headers, "content-length") ?? "";
  return /^\d+$/.test(length) ? { maxBodyBytes, expectedBytes: Number(length) } : { maxBodyBytes };
}

/** Checks what needs neither the signature nor the body. */
function checkRequest(
  { method, headers }: ReceivedRequest,
  { expectedBytes = 0, maxBodyBytes }: ReadLimits,
): Rejected | undefined {
  if (method.toUpperCase() !== "POST") return { reason: "method-not-allowed" };
  if (expectedBytes > maxBodyBytes) return { reason: "too-large" };
  // The signature covers the uncompressed bytes, and frameworks differ in whether they decompress.
  const encoding = getHeader(headers, "content-encoding") ?? "";
  const isIdentity = encoding === "" || /^(identity)?$/i.test([encoding].flat().join(", ").trim());
  return isIdentity ? undefined : { reason: "unsupported-encoding" };
}
