/** Receives a delivery, for any framework: checks the header, reads and verifies the body, handles the event, responds. */
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { getHeader, type HeadersLike, type RawBody, RawBodyError, type ReadLimits, toBytes } from "./body.ts";
import type { DedupeStore } from "./dedupe.ts";
import { type Delivery, findUnexpectedData, type WebhookEvent } from "./event.ts";
import { parseOptions, type ReceiverKind, type ReceiverOptions } from "./options.ts";
import { type Misconfiguration, reasons, unavailable } from "./reasons.ts";
import { createReporter, type Outcome, type Rejected, type VerifiedFacts } from "./reporter.ts";
import { describeSecretFailure } from "./secrets.ts";
import { checkHeader, isTimeMs, type VerificationFailure, type Verified, verifyBody } from "./verify.ts";

/** The parts of a request that a receiver needs. */
export interface ReceivedRequest {
  method: string;
  headers: HeadersLike;
  /** The bytes that arrived, or a function that reads them; it is called only when the header is valid. */
  rawBody: RawBody | ((limits: ReadLimits) => RawBody | Promise<RawBody>);
}

/** Takes a delivery and returns the response. Never throws or rejects: an error becomes a response and a log line. */
export type Receiver = (request: ReceivedRequest) => Promise<ReceiverResponse>;

/** The response to a delivery, for any framework. */
export interface ReceiverResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The verified event, if there is one. */
  event?: WebhookEvent;
  /** Runs `afterResponse`. Call it when the response has been sent. Never rejects. */
  afterResponse?: () => Promise<void>;
}

/** The state of one delivery while it is received. */
interface Reception {
  /** When the request arrived, by `performance.now()`. */
  readonly startedMs: number;
  /** Aborted by the timeout. */
  readonly controller: AbortController;
  /** What the receiver waits for: the body, the secret, or, with what is known of the event, the handler. */
  stage: "body" | "secret" | VerifiedFacts;
  /** The response was sent before the work ended; no outcome is reported after it. */
  hasTimedOut: boolean;
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
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET,
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
export function createReceiverOf(kind: ReceiverKind, options: ReceiverOptions) {
  const { now, maxBodyBytes, timeoutMs, toleranceSeconds, secretSource, clock } = parseOptions(options, kind);
  const { afterResponse } = options;
  const reporter = createReporter(options, clock);
  if (kind.triesSecretAtStart ?? true) {
    secretSource.tryAtStart((error) => {
      const failure = `${describeSecretFailure(error, options)} ${reasons["no-secret"].text}`;
      reporter.write(`${failure} Until it does, deliveries get the response 500.`, { page: "no-secret" });
    });
  }

  /** Responds after `timeoutMs` at the latest. The work continues then. */
  function receive(request: ReceivedRequest): Promise<ReceiverResponse> {
    const controller = new AbortController();
    const startedMs = performance.now();
    const reception: Reception = { startedMs, controller, stage: "body", hasTimedOut: false };
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(respondToTimeout(reception)), timeoutMs);
      const complete = (response: ReceiverResponse) => {
        clearTimeout(timer);
        resolve(response);
        // An event that is accepted later is processed all the same: its next delivery may be a duplicate.
        if (reception.hasTimedOut) void response.afterResponse?.();
      };
      verifyAndHandle(request, reception).then(complete, (error) =>
        complete(failUnexpectedly(reception, error)),
      );
    });
  }

  async function verifyAndHandle(request: ReceivedRequest, reception: Reception): Promise<ReceiverResponse> {
    const nowMs = now();
    if (!isTimeMs(nowMs)) return failMisconfigured(reception, "invalid-clock");
    const { headers } = request;
    const limits = checkRequest(request, maxBodyBytes);
    if ("reason" in limits) return reject(reception, limits);
    const header = checkHeader(getHeader(headers, "service-signature"), nowMs, toleranceSeconds);
    if ("reason" in header) return reject(reception, header);
    const body = await readBody(request, limits);
    if (body === "already-consumed") return failMisconfigured(reception, body, kind.fix);
    if (typeof body === "string") return reject(reception, { reason: body });

    reception.stage = "secret";
    let result: Verified | VerificationFailure;
    try {
      result = await verifyBody({ header, body, nowMs, keys: await secretSource.current() });
      if ("reason" in result && result.reason === "mismatch") {
        const keys = await secretSource.reload(); // the secret may have been replaced
        if (keys !== undefined) result = await verifyBody({ header, body, nowMs, keys });
      }
    } catch (error) {
      return failMisconfigured(reception, "no-secret", describeSecretFailure(error, options));
    }
    if ("reason" in result) return reject(reception, result);
    // After 408 or 503 the service delivers again, so this delivery must not be accepted.
    if (reception.hasTimedOut) return unavailable;

    const { event, key } = result;
    const { id, type } = event;
    const delivery: Delivery = {
      id: getHeader(headers, "service-delivery"),
      rawBody: body,
      receivedAt: new Date(nowMs),
      signal: reception.controller.signal,
    };
    const facts: VerifiedFacts = {
      event: { id, type },
      secretId: key.id,
      skewSeconds: header.skewSeconds,
      eventTypeMismatch: (getHeader(headers, "service-event") ?? type) !== type, // the header is not signed
    };
    const unexpectedData = findUnexpectedData(event);
    if (unexpectedData.length > 0) {
      facts.unexpectedData = unexpectedData;
      reporter.logUnexpectedData(event, unexpectedData);
    }
    reception.stage = facts;
    const handled = await handleOnce(options, event, delivery);
    return respondToEvent(reception, { ...handled, ...facts }, event, delivery);
  }

  function respondToEvent(
    reception: Reception,
    outcome: HandlingResult & VerifiedFacts,
    event: WebhookEvent,
    delivery: Delivery,
  ): ReceiverResponse {
    if (outcome.outcome === "failed")
      reporter.logHandlerError(event, outcome.error, "responded 503, so the service delivers again.");
    if (outcome.outcome === "failed" || outcome.outcome === "in-progress")
      return respond(reception, unavailable, outcome);
    const response: ReceiverResponse = { status: 204, headers: {}, event };
    if (afterResponse !== undefined && outcome.outcome !== "duplicate") {
      response.afterResponse = async () => {
        try {
          await afterResponse(event, delivery);
        } catch (error) {
          reporter.logHandlerError(event, error, "the response was sent already: use an inbox.");
          if (reception.hasTimedOut) return;
          reporter.report({ outcome: "after-response-failed", event: outcome.event, error }, 204, 0);
        }
      };
    }
    return respond(reception, response, outcome);
  }

  function respondToTimeout(reception: Reception): ReceiverResponse {
    const { stage, controller } = reception;
    let response: ReceiverResponse;
    if (stage === "body") response = reject(reception, { reason: "timeout" });
    else if (stage === "secret") response = failMisconfigured(reception, "secret-timeout");
    else {
      reporter.logHandlerTimeout();
      response = respond(reception, unavailable, { outcome: "failed", reason: "timeout", ...stage });
    }
    reception.hasTimedOut = true; // after the outcome was reported
    controller.abort(withSafeMessage(new Error("The receiver responded because of its timeout.")));
    return response;
  }

  function reject(reception: Reception, rejected: Rejected): ReceiverResponse {
    if (!reception.hasTimedOut) reporter.logRejection(rejected);
    const { reason, skewSeconds } = rejected;
    const skew = skewSeconds !== undefined && { skewSeconds };
    return respond(reception, reasons[reason].response, { outcome: "rejected", reason, ...skew });
  }

  function failMisconfigured(reception: Reception, reason: Misconfiguration, detail?: string) {
    reporter.logMisconfiguration(reason, detail);
    return respond(reception, reasons[reason].response, { outcome: "misconfigured", reason });
  }

  /** Handles an error that nothing should throw: responds 503, so that the service delivers again. */
  function failUnexpectedly(reception: Reception, error: unknown): ReceiverResponse {
    reporter.logUnexpectedError(error, "responded 503, so the service delivers again.");
    return respond(reception, unavailable, { outcome: "error", error });
  }

  /** Reports the outcome of the delivery. */
  function respond(reception: Reception, response: ReceiverResponse, outcome: Outcome): ReceiverResponse {
    const durationMs = performance.now() - reception.startedMs;
    if (!reception.hasTimedOut) reporter.report(outcome, response.status, durationMs);
    return response;
  }

  return { receive, reporter };
}

/** Checks what needs neither the signature nor the body. @returns how much of the body to read. */
function checkRequest({ method, headers }: ReceivedRequest, maxBodyBytes: number): ReadLimits | Rejected {
  if (method.toUpperCase() !== "POST") return { reason: "method-not-allowed" };
  const length = getHeader(headers, "content-length");
  const expectedBytes = /^\d+$/.test(`${length}`) ? Number(length) : undefined;
  if ((expectedBytes ?? 0) > maxBodyBytes) return { reason: "too-large" };
  // The signature covers the uncompressed bytes, and frameworks differ in whether they decompress.
  const encoding = getHeader(headers, "content-encoding")?.trim() ?? "";
  if (!/^(identity)?$/i.test(encoding)) return { reason: "unsupported-encoding" };
  return { maxBodyBytes, expectedBytes };
}

/** Returns the bytes, or why there are none to verify. */
async function readBody(
  { rawBody }: ReceivedRequest,
  limits: ReadLimits,
): Promise<Uint8Array | RawBodyError["reason"]> {
  try {
    const body = toBytes(typeof rawBody === "function" ? await rawBody(limits) : rawBody);
    if (body === undefined) return "already-consumed";
    return body.byteLength > limits.maxBodyBytes ? "too-large" : body;
  } catch (error) {
    return error instanceof RawBodyError ? error.reason : "already-consumed";
  }
}

type HandlingResult =
  | { outcome: "verified" | "stored" | "duplicate" | "in-progress" }
  /** `error` is what `handler`, the inbox or the dedupe store threw. */
  | { outcome: "failed"; reason: "handler-error"; error: unknown };

/**
 * Stores the event and calls `handler`; with `dedupe`, once per event. Never rejects. Continues after a timeout, so that the claim is
 * completed or released.
 */
async function handleOnce(
  { inbox, handler, dedupe }: ReceiverOptions,
  event: WebhookEvent,
  delivery: Delivery,
): Promise<HandlingResult> {
  let claimed: DedupeStore | undefined;
  try {
    if (dedupe !== undefined) {
      const state = await dedupe.claim(event.id); // the signed id: headers are not signed (spec 6.3.3)
      if (state !== "new") return { outcome: state === "done" ? "duplicate" : "in-progress" };
      claimed = dedupe;
    }
    const { rawBody: body, receivedAt } = delivery;
    const stored =
      inbox === undefined
        ? "verified"
        : await inbox.put(event, { body, receivedAt }, { signal: delivery.signal });
    await handler?.(event, delivery); // also for a duplicate: `handler` may have failed in its first delivery
    if (claimed !== undefined) await claimed.complete(event.id);
    return { outcome: stored };
  } catch (error) {
    try {
      await claimed?.release(event.id);
    } catch {
      // The store fails too; the claim ends with its lease.
    }
    return { outcome: "failed", reason: "handler-error", error };
  }
}
