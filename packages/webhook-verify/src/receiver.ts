/**
 * Receives a delivery, for any framework: checks the header, reads and verifies the body, handles
 * the event, responds.
 */
import { createReturnedFunctionError, withSafeMessage } from "@loyalty-cards/internal/errors";
import type { Result } from "@loyalty-cards/internal/result";
import {
  type BodyReader,
  getHeader,
  type ReadLimits,
  type ReceivedRequest,
  type RequestHead,
  readBody,
  readRawBody,
} from "./body.ts";
import { handleOnce } from "./dedupe.ts";
import { type Delivery, findUnexpectedData, type WebhookEvent } from "./event.ts";
import {
  type AdapterTraits,
  createPutError,
  parseOptions,
  type ReceiverOptions,
  type ReceiverSettings,
} from "./options.ts";
import {
  createReporter,
  type HandlingOutcome,
  type RefusalOutcome,
  toRefusalOutcome,
  type VerifiedFacts,
} from "./outcomes.ts";
import { isMisconfiguration, type Refusal, reasons, unavailable } from "./reasons.ts";
import { checkHeader, isTimeMs, type UnverifiedBody } from "./signature.ts";
import { type Match, verifyWithSecrets } from "./verify.ts";

/**
 * Takes a delivery and returns the response. Never throws or rejects: an error becomes a response
 * and a log line.
 */
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

/** What the receiver waits for: when `handling`, the dedupe store, the inbox or the handler. */
type Stage =
  | { name: "reading-body" | "loading-secret"; facts?: undefined }
  | { name: "handling"; facts: VerifiedFacts };

/** The state of one delivery while it is received. */
interface Reception {
  /** Aborted by the timeout. */
  readonly controller: AbortController;
  stage: Stage;
  /** The response was sent before the work ended. */
  hasTimedOut: boolean;
}

/** The response to a delivery, and what is reported of it. */
interface ReportedResponse {
  response: ReceiverResponse;
  end: HandlingOutcome | RefusalOutcome;
}

/** An event whose signature is verified, and what is known of its delivery. */
interface VerifiedDelivery {
  event: WebhookEvent;
  delivery: Delivery;
  facts: VerifiedFacts;
  reception: Reception;
}

const bodyAdvice =
  "Pass { method, headers, rawBody }, where rawBody has the bytes as they arrived. For a Request, use fetchReceiver of @loyalty-cards/webhook-verify/fetch.";

/**
 * Creates a receiver that needs no framework. Without `handler`, `afterResponse` and `inbox`,
 * handle the `event` of the response before you send it.
 * @throws {TypeError} for an option with an unknown name, a handler that is not a function, a
 * missing or empty secret, a tolerance or a limit that is not a number, a `now` that does not
 * return milliseconds, and for `dedupe` without a handler.
 * @example
 * ```ts
 * import { createReceiver, onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const receive = createReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET,
 *   handler: onEvents({
 *     "balance.changed": ({ data }) => console.log(data.balance),
 *     otherTypes: () => {},
 *   }),
 * });
 * // For a framework without an adapter: pass the bytes as they arrived, and send the response
 * // unchanged.
 * export const handle = async (method: string, headers: Headers, rawBody: Uint8Array) => {
 *   const { status, headers: responseHeaders } = await receive({ method, headers, rawBody });
 *   return new Response(null, { status, headers: responseHeaders });
 * };
 * ```
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const traits = { name: "createReceiver", bodyAdvice, callerHandlesEvent: true } as const;
  const { receive } = createAdapterReceiver(traits, options);
  return (request) => receive(request, (limits) => readRawBody(request, limits));
}

/** {@link createReceiver} for an adapter, which reads the body and also reports its own errors. */
export function createAdapterReceiver(traits: AdapterTraits, options: ReceiverOptions) {
  const settings = parseOptions(options, traits);
  const { timeoutMs, toleranceSeconds, secrets, afterResponse, handlesEvents } = settings;
  const reporter = createReporter(settings);
  if (traits.triesSecretAtStart ?? true) secrets.tryAtStart(reporter.logSecretFailure);

  /**
   * Responds after `timeoutMs` at the latest, and the work continues. The response depends on it:
   * - while the body is read: 408, and nothing further begins;
   * - while the secret is loaded: 503, and the event is not handled;
   * - while the dedupe store or the inbox works: 503, and the handler is not called;
   * - while the handler runs: 503, and its event is accepted when it succeeds.
   */
  function receive(head: RequestHead, reader: BodyReader): Promise<ReceiverResponse> {
    const startedMs = performance.now();
    const reception: Reception = {
      controller: new AbortController(),
      stage: { name: "reading-body" },
      hasTimedOut: false,
    };
    return new Promise((resolve) => {
      const respond = ({ value, failure }: Result<ReportedResponse, Refusal>) => {
        const { response, end } = value ?? refuse(failure);
        const { status } = response;
        const durationMs = performance.now() - startedMs;
        reporter.report(end, { status, durationMs, facts: reception.stage.facts });
        resolve(response);
      };
      const timer = setTimeout(() => {
        reception.hasTimedOut = true;
        respond(endByTimeout(reception.stage));
        const reason = new Error("The receiver responded because of its timeout.");
        reception.controller.abort(withSafeMessage(reason));
      }, timeoutMs);
      runSteps(head, reader, reception)
        .catch((error) => ({ value: endByUnexpectedError(error) }))
        .then((result) => {
          clearTimeout(timer);
          if (reception.hasTimedOut) completeLate(result);
          else respond(result);
        });
    });
  }

  /** Each step returns what the next one needs, or why the delivery is refused. */
  async function runSteps(
    head: RequestHead,
    reader: BodyReader,
    reception: Reception,
  ): Promise<Result<ReportedResponse, Refusal>> {
    const request = checkRequest(head, settings);
    if (request.failure !== undefined) return request;
    const { nowMs, signature, limits } = request.value;
    const header = checkHeader(signature, nowMs, toleranceSeconds);
    if (header.failure !== undefined) return header;
    const body = await readBody(reader, limits);
    if (body.failure !== undefined) return body;
    // The service delivers again what was too late, so it must not be accepted.
    if (reception.hasTimedOut) return timedOut;
    const unverified = { header: header.value, body: body.value, nowMs };
    reception.stage = { name: "loading-secret" };
    const match = await verifyWithSecrets(unverified, secrets);
    if (match.failure !== undefined) return match;
    if (reception.hasTimedOut) return timedOut;
    const verified = createVerifiedDelivery(head, unverified, match.value, reception);
    reporter.logUnexpectedData(verified.facts);
    reception.stage = { name: "handling", facts: verified.facts };
    return { value: endHandling(verified, await handleUnlessDuplicate(verified, settings)) };
  }

  /** Accepts the delivery with 204. After 503 the service delivers again. */
  function endHandling(verified: VerifiedDelivery, end: HandlingOutcome): ReportedResponse {
    const { event } = verified;
    if ("error" in end) reporter.logHandlerError(event, end.error, deliversAgain);
    if (end.outcome === "failed" || end.outcome === "in-progress")
      return { response: unavailable, end };
    const response: ReceiverResponse = { status: 204, headers: {}, event };
    if (afterResponse !== undefined && end.outcome !== "duplicate")
      response.afterResponse = () => runAfterResponse(verified);
    return { response, end };
  }

  async function runAfterResponse(verified: VerifiedDelivery): Promise<void> {
    const { event, delivery, facts, reception } = verified;
    try {
      const result = await afterResponse?.(event, delivery);
      if (typeof result === "function") throw createReturnedFunctionError("afterResponse");
    } catch (error) {
      reporter.logHandlerError(event, error, "the response was sent already: use an inbox.");
      if (reception.hasTimedOut) return;
      const end = { outcome: "after-response-failed", event: facts.event, error } as const;
      reporter.report(end, { status: 204, durationMs: 0 });
    }
  }

  function endByTimeout(stage: Stage): Result<ReportedResponse, Refusal> {
    switch (stage.name) {
      case "reading-body":
        return timedOut;
      case "loading-secret":
        return { failure: { reason: "secret-timeout" } };
      case "handling":
        reporter.logHandlerTimeout(stage.facts.event, timeoutMs);
        return { value: { response: unavailable, end: { outcome: "failed", reason: "timeout" } } };
    }
  }

  function refuse(refusal: Refusal): ReportedResponse {
    if (isMisconfiguration(refusal)) reporter.logMisconfiguration(refusal);
    else reporter.logRejection(refusal);
    return { response: reasons[refusal.reason].response, end: toRefusalOutcome(refusal) };
  }

  /** Handles an error that nothing should throw. */
  function endByUnexpectedError(error: unknown): ReportedResponse {
    reporter.logUnexpectedError(error, deliversAgain);
    return { response: unavailable, end: { outcome: "error", error } };
  }

  /** Completes a delivery whose outcome the timeout has reported. */
  function completeLate({ value, failure }: Result<ReportedResponse, Refusal>): void {
    if (failure === undefined) {
      // The handler was already running at the timeout. The event is accepted now, so nobody else
      // will run `afterResponse` for it: its next delivery may be a duplicate.
      void value.response.afterResponse?.();
      return;
    }
    // Such as why the secret was late.
    if (isMisconfiguration(failure)) reporter.logMisconfiguration(failure);
  }

  return { receive, reporter, handlesEvents };
}

const timedOut = { failure: { reason: "timeout" } } as const;

/** What follows from the response, as the log says it. */
const deliversAgain = "responded 503, so the service delivers again.";

/** Checks what needs neither the signature nor the body, and reads what the next steps need. */
function checkRequest(
  { method, headers }: RequestHead,
  { now, maxBodyBytes }: ReceiverSettings,
): Result<{ nowMs: number; signature: string | undefined; limits: ReadLimits }, Refusal> {
  // A program in JavaScript may pass other arguments.
  if (typeof method !== "string" || typeof headers !== "object")
    throw withSafeMessage(new TypeError(bodyAdvice));
  const nowMs = now();
  if (!isTimeMs(nowMs)) return { failure: { reason: "invalid-clock" } };
  if (method.toUpperCase() !== "POST") return { failure: { reason: "method-not-allowed" } };
  const length = getHeader(headers, "content-length");
  const expectedBytes = /^\d+$/.test(`${length}`) ? Number(length) : undefined;
  if ((expectedBytes ?? 0) > maxBodyBytes) return { failure: { reason: "too-large" } };
  // The signature covers the uncompressed bytes, and frameworks differ in whether they decompress.
  const encoding = getHeader(headers, "content-encoding")?.trim() ?? "";
  if (!/^(identity)?$/i.test(encoding)) return { failure: { reason: "unsupported-encoding" } };
  const signature = getHeader(headers, "service-signature");
  return { value: { nowMs, signature, limits: { maxBodyBytes, expectedBytes } } };
}

function createVerifiedDelivery(
  { headers }: RequestHead,
  { header, body, nowMs }: UnverifiedBody,
  { event, key }: Match,
  reception: Reception,
): VerifiedDelivery {
  const { id, type } = event;
  const { controller } = reception;
  const unexpectedData = findUnexpectedData(event);
  const facts: VerifiedFacts = {
    event: { id, type },
    secretId: key.id,
    skewSeconds: header.skewSeconds,
    eventTypeMismatch: (getHeader(headers, "service-event") ?? type) !== type, // it is not signed
  };
  if (unexpectedData.length > 0) facts.unexpectedData = unexpectedData;
  const delivery: Delivery = {
    id: getHeader(headers, "service-delivery"),
    rawBody: body,
    receivedAt: new Date(nowMs),
    // A signal is created when it is read: on Node 20 that takes half as long as all other steps.
    get signal() {
      return controller.signal;
    },
  };
  return { event, delivery, facts, reception };
}

const acceptedOutcomes = ["verified", "stored", "duplicate"] as const;
type Accepted = (typeof acceptedOutcomes)[number];

/**
 * Handles the event; with `dedupe`, once. Never rejects. After a timeout, the step that runs
 * continues, and no further step begins.
 */
async function handleUnlessDuplicate(
  verified: VerifiedDelivery,
  settings: ReceiverSettings,
): Promise<HandlingOutcome> {
  const { dedupe, clock } = settings;
  try {
    if (dedupe === undefined) return { outcome: await storeAndCallHandler(verified, settings) };
    const handle = () => storeAndCallHandler(verified, settings);
    return { outcome: await handleOnce(verified.event.id, handle, { dedupe, clock }) };
  } catch (error) {
    return { outcome: "failed", reason: "handler-error", error };
  }
}

/**
 * Stores the event, and calls `handler`.
 * @throws when the timeout came before one of them: the service delivers again.
 */
async function storeAndCallHandler(
  { event, delivery, reception }: VerifiedDelivery,
  { inbox, handler }: ReceiverSettings,
): Promise<Accepted> {
  if (reception.hasTimedOut) throw createLateError("the dedupe store");
  const { rawBody: body, receivedAt } = delivery;
  const accepted =
    inbox === undefined ? "verified" : await inbox.put(event, { body, receivedAt }, delivery);
  if (!acceptedOutcomes.includes(accepted)) throw createPutError(accepted);
  if (handler === undefined) return accepted;
  if (reception.hasTimedOut) throw createLateError("the inbox");
  // `handler` is called for a duplicate of the inbox too: it may have failed before.
  const result = await handler(event, delivery);
  if (typeof result === "function") throw createReturnedFunctionError("handler");
  return accepted;
}

const createLateError = (cause: string): Error =>
  withSafeMessage(new Error(`${cause} took longer than timeoutMs, so the event was not handled`));
