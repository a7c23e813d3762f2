/** The options of a receiver: their defaults and validation. */

import { maxTimerMs } from "@loyalty-cards/internal/limits";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import type { DedupeStore } from "./dedupe.ts";
import type { Delivery, WebhookEvent } from "./event.ts";
import type { ReporterOptions } from "./reporter.ts";
import { createSecretSource, type SecretOption } from "./secrets.ts";
import { parseTolerance, readClock, type VerifyInput } from "./verify.ts";

/** A durable store for events. `put` resolves only when the event would survive a crash. */
export interface Inbox {
  put(
    event: WebhookEvent,
    raw: { body: Uint8Array; receivedAt: Date },
    options: { signal: AbortSignal },
  ): Promise<"stored" | "duplicate">;
}

/** Which secret to trust, and what to do with an event before and after the response. */
export interface ReceiverOptions extends ReporterOptions, Pick<VerifyInput, "toleranceSeconds" | "now"> {
  /**
   * The signing secret, several, or a function that loads them. Except in Lambda, in `next build` and in the global scope of Workers,
   * the function is also called when the receiver is created, so that the log says what is wrong before the first delivery.
   */
  secret: SecretOption;
  /**
   * How long the receiver uses the result of a `secret` function, in seconds. Default 300. Then it calls the function before it
   * verifies a delivery, so that a replaced or leaked secret stops working in every process; if this call fails, the response is 500.
   * After four fifths of the time it calls the function in the background, so that deliveries rarely wait for it.
   */
  secretMaxAgeSeconds?: number;
  /** Larger bodies are rejected with 413, and not read further. In bytes, default 1 MiB. */
  maxBodyBytes?: number;
  /** A durable store; the receiver responds when it has stored the event. */
  inbox?: Inbox;
  /** Called and awaited before the response; its result is ignored. When it rejects, the response is 503 and the service delivers again. */
  handler?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Stores event ids, so that `handler` and `afterResponse` are called once per event. */
  dedupe?: DedupeStore;
  /** Called after the response, and lost when the process dies: use an inbox when that matters. */
  afterResponse?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** After this many milliseconds the response is 503, or 408 without a body, and the service delivers again. Default 8 000; the service waits 10 000. */
  timeoutMs?: number;
  /**
   * Set by tests only. The clock returns milliseconds since an arbitrary moment, for the age of loaded secrets and for the pauses
   * between log lines; default `performance.now`.
   */
  testing?: { clock?: { monotonicMs(): number } };
}

/** What the receiver needs to know of its adapter: its name for messages, and what differs in its framework. */
export interface ReceiverKind {
  name: string;
  /** For the log: what to change when something else has read the body. */
  fix?: string;
  /** The options of the adapter itself. */
  ownOptions?: readonly string[];
  /** The caller of the receiver can handle the event, so no handler is needed. */
  returnsEvent?: true;
  /** Default true. False where nothing may run between deliveries: the first delivery calls a `secret` function. */
  triesSecretAtStart?: boolean;
}

const optionTypes = {
  secret: "",
  secretMaxAgeSeconds: "",
  toleranceSeconds: "",
  maxBodyBytes: "",
  now: "function",
  inbox: "",
  handler: "function",
  afterResponse: "function",
  dedupe: "",
  timeoutMs: "",
  logErrorMessages: "",
  onOutcome: "function",
  log: "function",
  testing: "",
} satisfies Record<keyof ReceiverOptions, "function" | "">;

/** Validates the options and applies the defaults. */
export function parseOptions(options: ReceiverOptions, kind: ReceiverKind) {
  const { name } = kind;
  // A request, when a framework calls the function in place of its result.
  if (typeof options !== "object" || options === null || "headers" in options)
    throw new TypeError(
      `${name} needs options: write ${name}({ secret, handler }) in place of ${name} or ${name}().`,
    );
  requireKnownOptions(name, options, [...Object.keys(optionTypes), ...(kind.ownOptions ?? [])]);
  requireFunctions(options);
  const {
    now = Date.now,
    maxBodyBytes = 1024 * 1024,
    timeoutMs = 8_000,
    secretMaxAgeSeconds = 300,
    testing,
  } = options;
  const toleranceSeconds = parseTolerance(options.toleranceSeconds);
  requireLimit("maxBodyBytes", maxBodyBytes);
  requireLimit("timeoutMs", timeoutMs, maxTimerMs);
  requireLimit("secretMaxAgeSeconds", secretMaxAgeSeconds);
  const clock = testing?.clock ?? { monotonicMs: () => performance.now() };
  const secretSource = createSecretSource(options.secret, secretMaxAgeSeconds * 1000, clock);
  readClock(now); // reports an invalid clock here, not with the first delivery
  requireHandler(options, kind);
  return { now, maxBodyBytes, timeoutMs, toleranceSeconds, secretSource, clock };
}

function requireFunctions(options: ReceiverOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (optionTypes[name as keyof ReceiverOptions] !== "function" || typeof value === "function") continue;
    // A misspelt import or property is undefined, and the events would be lost.
    if (value === undefined && name !== "handler" && name !== "afterResponse") continue;
    throw new TypeError(
      `${name} must be a function; it is ${value === null ? "null" : typeof value}. ${name === "handler" ? "Pass a function, such as onEvents({ … })." : advice}`,
    );
  }
}

const advice = "Omit it, or check where it comes from.";

/** Whether an option handles the events. Without one they would be lost after the response. */
export const hasHandler = ({ handler, afterResponse, inbox }: ReceiverOptions): boolean =>
  (handler ?? afterResponse ?? inbox) !== undefined;

function requireHandler(options: ReceiverOptions, { name, returnsEvent }: ReceiverKind): void {
  const { inbox, dedupe } = options;
  if ("inbox" in options && typeof inbox?.put !== "function")
    throw new TypeError(`inbox must have a method put. ${advice}`);
  const methods = [dedupe?.claim, dedupe?.complete, dedupe?.release];
  if ("dedupe" in options && !methods.every((method) => typeof method === "function"))
    throw new TypeError(
      `dedupe must have the methods claim, complete and release, as memoryDedupe() has. ${advice}`,
    );
  if (hasHandler(options)) return;
  if (!returnsEvent)
    throw new TypeError(
      `${name} has nothing that handles the events, so they would be lost: pass handler, afterResponse or inbox, such as { secret, handler: onEvents({ … }) }.`,
    );
  if (dedupe !== undefined)
    throw new TypeError(
      "dedupe needs handler, afterResponse or inbox: the receiver cannot know whether the code after it succeeds.",
    );
}

function requireLimit(name: string, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isFinite(value) && value > 0 && value <= max) return;
  throw new TypeError(`${name} must be a positive number, at most ${max}; it is ${value}.`);
}
