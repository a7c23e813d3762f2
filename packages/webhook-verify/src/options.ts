/** The options of a receiver: their defaults and validation. */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { formatType } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { maxTimerMs, requirePositive } from "@loyalty-cards/internal/limits";
import type { DedupeStore } from "./dedupe.ts";
import type { EventHandler, WebhookEvent } from "./event.ts";
import type { ReporterOptions } from "./outcomes.ts";
import { createSecretSource, type SecretOption } from "./secret-source.ts";
import { parseTolerance, readClock } from "./signature.ts";
import type { VerifyInput } from "./verify.ts";

/** A durable store for events. `put` resolves only when the event would survive a crash. */
export interface Inbox {
  put(
    event: WebhookEvent,
    raw: { body: Uint8Array; receivedAt: Date },
    options: { signal: AbortSignal },
  ): Promise<"stored" | "duplicate">;
}

/**
 * Creates the error for an inbox of your own that resolves to something else: the event may be
 * lost.
 */
export const createPutError = (result: unknown): Error =>
  createTypeError(
    `inbox.put must resolve to "stored" or "duplicate"; it resolved to ${formatType(result)}.`,
  );

/** Which secret to trust, and what to do with an event before and after the response. */
export interface ReceiverOptions
  extends ReporterOptions,
    Pick<VerifyInput, "toleranceSeconds" | "now"> {
  /**
   * The signing secret, several, or a function that loads them. Except in Lambda, in `next build`
   * and in the global scope of Workers, the function is also called when the receiver is created,
   * so that the log says what is wrong before the first delivery.
   */
  secret: SecretOption;
  /**
   * How long the receiver uses the result of a `secret` function, in seconds. Default 300. Then it
   * calls the function before it verifies a delivery, so that a replaced or leaked secret stops
   * working in every process; if this call fails, the response is 500. After four fifths of the
   * time it calls the function in the background, so that deliveries rarely wait for it.
   */
  secretMaxAgeSeconds?: number;
  /** Larger bodies are rejected with 413, and not read further. In bytes, default 1 MiB. */
  maxBodyBytes?: number;
  /**
   * A durable store; the receiver responds when it has stored the event. A `handler` beside it is
   * called as well, after it and before the response: omit `handler` if a worker handles events.
   */
  inbox?: Inbox;
  /**
   * Called and awaited before the response; its result is ignored. When it rejects, the response is
   * 503 and the service delivers again.
   */
  handler?: EventHandler;
  /**
   * Stores event ids, so that `handler` and `afterResponse` are called once per event. Each service
   * needs its own, because events of two services may have the same id. An inbox needs none: an
   * event that this store knows does not reach it, not even to revive a dead letter.
   */
  dedupe?: DedupeStore;
  /** Called after the response, and lost when the process dies: use an inbox when that matters. */
  afterResponse?: EventHandler;
  /**
   * After this many milliseconds the response is 503, or 408 without a body, and the service
   * delivers again. Default 8 000; the service waits 10 000 ([spec
   * 6.3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-1)).
   */
  timeoutMs?: number;
  /**
   * Set by tests only. The clock returns milliseconds since an arbitrary moment, for the age of
   * loaded secrets and of claims, and for the pauses between log lines; default `performance.now`.
   */
  testing?: { clock?: { monotonicMs(): number } };
}

/**
 * What the receiver needs to know of its adapter: its name for messages, and what differs in its
 * framework.
 */
export interface AdapterTraits {
  name: string;
  /** What the log advises when something else has read the body. */
  bodyAdvice: string;
  /** The options of the adapter itself. */
  ownOptions?: Readonly<Record<string, true>>;
  /** The caller of the receiver handles the event when the options have no handler. */
  callerHandlesEvent?: true;
  /**
   * Default true. False where nothing may run between deliveries: the first delivery calls a
   * `secret` function.
   */
  triesSecretAtStart?: boolean;
}

const optionNames = {
  secret: true,
  secretMaxAgeSeconds: true,
  toleranceSeconds: true,
  maxBodyBytes: true,
  now: true,
  inbox: true,
  handler: true,
  afterResponse: true,
  dedupe: true,
  timeoutMs: true,
  logErrorMessages: true,
  onOutcome: true,
  log: true,
  testing: true,
} satisfies OptionNames<ReceiverOptions>;

type Testing = NonNullable<ReceiverOptions["testing"]>;
const testingNames = { clock: true } satisfies OptionNames<Testing>;

const functionOptions = ["now", "handler", "afterResponse", "onOutcome", "log"] as const;

export type ReceiverSettings = ReturnType<typeof parseOptions>;

/** Validates the options and applies the defaults: the result is all that a receiver reads. */
export function parseOptions(options: ReceiverOptions, traits: AdapterTraits) {
  requireOptions(options, traits);
  requireFunctions(options);
  const {
    now = Date.now,
    maxBodyBytes = 1024 * 1024,
    timeoutMs = 8_000,
    secretMaxAgeSeconds = 300,
    logErrorMessages = false,
    log = console.error,
    testing,
  } = options;
  const toleranceSeconds = parseTolerance(options.toleranceSeconds);
  requirePositive("maxBodyBytes", maxBodyBytes);
  requirePositive("timeoutMs", timeoutMs, maxTimerMs);
  requirePositive("secretMaxAgeSeconds", secretMaxAgeSeconds);
  const clock = testing?.clock ?? { monotonicMs: () => performance.now() };
  const secrets = createSecretSource(options.secret, {
    maxAgeMs: secretMaxAgeSeconds * 1000,
    clock,
    logErrorMessages,
  });
  readClock(now); // throws for an invalid one
  const { inbox, handler, dedupe, afterResponse, onOutcome } = options;
  const handlesEvents = (handler ?? afterResponse ?? inbox) !== undefined;
  requireHandler(options, traits, handlesEvents);
  return Object.freeze({
    now,
    maxBodyBytes,
    timeoutMs,
    toleranceSeconds,
    clock,
    secrets,
    inbox,
    handler,
    dedupe,
    afterResponse,
    handlesEvents,
    onOutcome,
    log,
    logErrorMessages,
    bodyAdvice: traits.bodyAdvice,
  });
}

function requireOptions(options: ReceiverOptions, { name, ownOptions }: AdapterTraits): void {
  // The argument is a request when a framework calls the function in place of its result.
  if (typeof options !== "object" || options === null || "headers" in options)
    throw new TypeError(
      `${name} needs options: write ${name}({ secret, handler }) in place of ${name} or ${name}().`,
    );
  requireKnownNames(name, options, { ...optionNames, ...ownOptions });
  requireKnownNames(`testing of ${name}`, options.testing ?? {}, testingNames);
}

function requireFunctions(options: ReceiverOptions): void {
  for (const name of functionOptions) {
    const value: unknown = options[name];
    if (typeof value === "function" || !(name in options)) continue;
    // A misspelt import or property is undefined, and the events would be lost.
    const mayBeUndefined = name !== "handler" && name !== "afterResponse";
    if (value === undefined && mayBeUndefined) continue;
    const fix = name === "handler" ? "Pass a function, such as onEvents({ … })." : advice;
    throw new TypeError(`${name} must be a function; it is ${formatType(value)}. ${fix}`);
  }
}

const advice = "Omit it, or check where it comes from.";

/** @param handlesEvents false: the events would be lost after the response. */
function requireHandler(
  options: ReceiverOptions,
  { name, callerHandlesEvent }: AdapterTraits,
  handlesEvents: boolean,
): void {
  const { inbox, dedupe } = options;
  if ("inbox" in options && typeof inbox?.put !== "function")
    throw new TypeError(
      `inbox must have a method put, as sqliteInbox({ … }) and await pgBossInbox(…) have; it is ${formatType(inbox)}. ${advice}`,
    );
  const methods = [dedupe?.claim, dedupe?.complete, dedupe?.release];
  if ("dedupe" in options && !methods.every((method) => typeof method === "function"))
    throw new TypeError(
      `dedupe must have the methods claim, complete and release, as memoryDedupe() has. ${advice}`,
    );
  if (handlesEvents) return;
  if (!callerHandlesEvent)
    throw new TypeError(
      `${name} has nothing that handles the events, so they would be lost: pass handler, afterResponse or inbox, such as { secret, handler: onEvents({ … }) }.`,
    );
  if (dedupe !== undefined)
    throw new TypeError(
      "dedupe needs handler, afterResponse or inbox: the receiver cannot know whether the code after it succeeds.",
    );
}
