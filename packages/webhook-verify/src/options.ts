/** The options of a receiver: their defaults and validation. */
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { DedupeStore } from "./dedupe.ts";
import type { Delivery, WebhookEvent } from "./event.ts";
import type { ReporterOptions } from "./reporter.ts";
import { createSecretSource, type SecretOption } from "./secrets.ts";
import { parseTolerance, readClock } from "./verify.ts";

/** A durable store for events. `put` resolves only when the event would survive a crash. */
export interface Inbox {
  put(
    event: WebhookEvent,
    raw: { body: Uint8Array; receivedAt: Date },
    options: { signal: AbortSignal },
  ): Promise<"stored" | "duplicate">;
}

/** Which secret to trust, and what to do with an event before and after the response. */
export interface ReceiverOptions extends ReporterOptions {
  /**
   * The signing secret, several, or a function that loads them; its result is used for `secretMaxAgeSeconds`. The function is also
   * called once, in the background, when the receiver is created, so that the log says what is wrong before the first delivery. It is
   * not called then in Lambda, in `next build` and in the global scope of Workers.
   */
  secret: SecretOption;
  /**
   * How long the receiver uses the result of a `secret` function, in seconds. Default 300. After that it calls the function again
   * before it verifies a delivery, so that a replaced or leaked secret stops working in every process. If this call fails, the
   * response is 500 and the service delivers again. After four fifths of the time the receiver calls the function in the background,
   * so that deliveries rarely wait for it.
   */
  secretMaxAgeSeconds?: number;
  /** How far `t` may differ from the current time, in either direction, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** Larger bodies are rejected with 413 and not read. In bytes, default 1 MiB. */
  maxBodyBytes?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. Validated here and for each delivery. */
  now?: () => number;
  /** A durable store; the receiver responds when it has stored the event. */
  inbox?: Inbox;
  /** Called and awaited before the response; its result is ignored. When it rejects, the response is 503 and the service delivers again. */
  handler?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Stores event ids, so that `handler` and `afterResponse` are called once per event. */
  dedupe?: DedupeStore;
  /** Called after the response, and lost when the process dies: use an inbox when that matters. */
  afterResponse?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** After this many milliseconds the response is 503 and the service delivers again. Default 8 000; the service waits 10 000. */
  timeoutMs?: number;
  /** Set by tests only. */
  testing?: {
    clock?: {
      /**
       * Milliseconds since an arbitrary moment, for the age of loaded secrets, and for the pauses between calls of the `secret`
       * function and between log lines. Default `performance.now`.
       */
      monotonicMs(): number;
    };
  };
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
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${kind.name} needs options: { secret, handler }.`);
  requireKnownOptions(kind.name, options, [...Object.keys(optionTypes), ...(kind.ownOptions ?? [])]);
  requireFunctions(options);
  const {
    now = Date.now,
    maxBodyBytes = 1024 * 1024,
    timeoutMs = 8_000,
    secretMaxAgeSeconds = 300,
  } = options;
  const toleranceSeconds = parseTolerance(options.toleranceSeconds);
  requireLimit("maxBodyBytes", maxBodyBytes);
  requireLimit("timeoutMs", timeoutMs, maxTimerMs);
  requireLimit("secretMaxAgeSeconds", secretMaxAgeSeconds);
  const clock = options.testing?.clock;
  const monotonicMs =
    clock === undefined
      ? () => performance.now()
      : () => readClock("testing.clock.monotonicMs", () => clock.monotonicMs());
  const secretSource = createSecretSource(options.secret, {
    maxAgeMs: secretMaxAgeSeconds * 1000,
    monotonicMs,
  });
  // These two report an invalid clock here, not with the first delivery.
  monotonicMs();
  readClock("now", now);
  requireHandler(options, kind);
  return { now, maxBodyBytes, timeoutMs, toleranceSeconds, secretSource, monotonicMs };
}

function requireFunctions(options: ReceiverOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (optionTypes[name as keyof ReceiverOptions] !== "function" || typeof value === "function") continue;
    if (value === undefined && !lostWithout.includes(name)) continue;
    throw new TypeError(
      `${name} must be a function; it is ${value === null ? "null" : typeof value}. Omit it, or check where it comes from.`,
    );
  }
}

/** Options that must not be undefined: a misspelt import or property is undefined, and the events would be lost. */
const lostWithout = ["handler", "afterResponse"];

/** Whether an option handles the events. Without one they would be lost after the response. */
export const hasHandler = ({ handler, afterResponse, inbox }: ReceiverOptions): boolean =>
  (handler ?? afterResponse ?? inbox) !== undefined;

function requireHandler(options: ReceiverOptions, { name, returnsEvent }: ReceiverKind): void {
  const advice = "Omit it, or check where it comes from.";
  if ("inbox" in options && !hasMethods(options.inbox, "put"))
    throw new TypeError(`inbox must have a method put. ${advice}`);
  if ("dedupe" in options && !hasMethods(options.dedupe, "claim", "complete", "release")) {
    throw new TypeError(
      `dedupe must have the methods claim, complete and release, as memoryDedupe() has. ${advice}`,
    );
  }
  if (hasHandler(options)) return;
  if (returnsEvent === undefined) {
    throw new TypeError(
      `${name} has nothing that handles the events, so they would be lost: pass handler, afterResponse or inbox, such as { secret, handler: onEvents({ … }) }.`,
    );
  }
  if (options.dedupe !== undefined) {
    throw new TypeError(
      "dedupe needs handler, afterResponse or inbox: the receiver cannot know whether the code after it succeeds.",
    );
  }
}

const hasMethods = (value: unknown, ...names: string[]): boolean =>
  names.every((name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === "function");

function requireLimit(name: string, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isFinite(value) && value > 0 && value <= max) return;
  throw new TypeError(`${name} must be a positive number, at most ${max}; it is ${value}.`);
}
