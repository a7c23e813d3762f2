/**
 * Why a delivery is not accepted: each reason with its response and with what to check, and the
 * error of a verification.
 */
import { formatErrorLink, webhookErrorBrand } from "@loyalty-cards/internal/errors";

/** Why a delivery does not verify: the `reason` of {@link WebhookVerificationError}. */
export type VerificationErrorReason =
  | "missing-signature"
  | "malformed-signature"
  | "stale"
  | "future"
  | "mismatch"
  | "invalid-payload";

/** Why a delivery was rejected: 4xx. */
export type RejectionReason =
  | VerificationErrorReason
  | "method-not-allowed"
  | "too-large"
  | "unsupported-encoding"
  | "unreadable"
  | "timeout";

/** What is wrong with the program or its configuration: 5xx. */
export type MisconfigurationReason =
  | "already-consumed"
  | "invalid-clock"
  | "no-secret"
  | "secret-timeout";

/** Why a step does not accept a delivery, with what a log line adds. */
export type Refusal = Rejection | Misconfiguration;

export interface Rejection<Reason = RejectionReason> {
  reason: Reason;
  /** For `stale` and `future`: the current time minus the signature's, in seconds. */
  skewSeconds?: number;
  /** For `invalid-payload`: what is wrong, without text of the body. */
  detail?: string;
}

export interface Misconfiguration {
  reason: MisconfigurationReason;
  /** For `no-secret`: how the `secret` function failed. */
  detail?: string;
}

interface Response {
  status: number;
  headers: Readonly<Record<string, string>>;
}

interface Explanation {
  /** It does not contain the reason, which is for the log and for `onOutcome` only. */
  response: Response;
  /** What to check. `SECONDS` is the age of the signature, or how far it is ahead. */
  text: string;
}

/**
 * The service delivers again. The delay in seconds is that of its first retry ([spec
 * 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
export const unavailable: Response = { status: 503, headers: { "retry-after": "60" } };
const unauthorized: Response = { status: 401, headers: {} }; // spec 5.8
const serverError: Response = { status: 500, headers: {} };
/** Closes the connection, because the body is not read to its end. */
const closing = (status: number): Response => ({ status, headers: { connection: "close" } });

const rejections = {
  "missing-signature": {
    response: unauthorized,
    text: "is this the service, or does a proxy remove the Service-Signature header?",
  },
  "malformed-signature": {
    response: unauthorized,
    text: "the Service-Signature header must be t=<unix seconds>,v1=<64 hex digits>, once. Are signature and secret exchanged, or does a proxy change it?",
  },
  stale: {
    response: unauthorized,
    text: "signed SECONDS s ago by this machine's clock: synchronize it with NTP. If it is correct, a proxy delayed the delivery, or it is a replay.",
  },
  future: {
    response: unauthorized,
    text: "signed SECONDS s ahead of this machine's clock: synchronize it with NTP. If it is correct, the clock of the sender is not.",
  },
  mismatch: {
    response: unauthorized,
    text: 'the signature does not match this secret and body. Set the signing secret of this endpoint, which is not the API key; if it is lost, press "New secret" in the console of the service. A secret whose notAfter has passed is not tried. If the secret is correct, a parser or proxy changes the body.',
  },
  "invalid-payload": {
    response: { status: 400, headers: {} },
    text: "the signature is valid, but the body is not an event: a JSON object with the strings id, type and createdAt.",
  },
  "method-not-allowed": {
    response: { status: 405, headers: { allow: "POST" } },
    text: "the service sends POST only. Does a redirect turn it into GET?",
  },
  "too-large": { response: closing(413), text: "the body has more than maxBodyBytes." },
  "unsupported-encoding": {
    response: { status: 415, headers: { "accept-encoding": "identity" } },
    text: "the body is compressed, and the service sends it uncompressed. Does a proxy compress it?",
  },
  unreadable: { response: closing(400), text: "the connection ended before the body did." },
  timeout: {
    response: closing(408),
    text: "the body did not arrive within timeoutMs. Does a parser or a proxy hold it back?",
  },
} satisfies Record<RejectionReason, Explanation>;

const misconfigurations = {
  "already-consumed": {
    response: serverError,
    text: "the body was parsed before the webhook receiver could read it, and a signature covers bytes, not objects.",
  },
  "invalid-clock": {
    response: serverError,
    text: "the `now` function did not return milliseconds. It must return a number, as Date.now does; for a Date that is date.getTime().",
  },
  "no-secret": {
    response: serverError,
    text: "The function must return the signing secret that the service's console shows once.",
  },
  "secret-timeout": {
    response: unavailable,
    text: "the `secret` function took longer than timeoutMs; responded 503, so the service delivers again. Make it fail sooner, or check why it is slow.",
  },
} satisfies Record<MisconfigurationReason, Explanation>;

/** The response to each, and what to check. */
export const reasons: Readonly<Record<Refusal["reason"], Explanation>> = {
  ...rejections,
  ...misconfigurations,
};

export const isMisconfiguration = (refusal: Refusal): refusal is Misconfiguration =>
  refusal.reason in misconfigurations;

/**
 * What to check, for error messages and log lines. Contains nothing of the delivery except the age
 * of its signature.
 */
export function describeRejection(reason: RejectionReason, skewSeconds = Number.NaN): string {
  return `${reason}; ${reasons[reason].text.replace("SECONDS", String(Math.abs(skewSeconds)))}`;
}

/**
 * Thrown when a delivery does not verify. Respond 401 ([spec
 * 5.8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-8)), or 400 for
 * `invalid-payload`, without the `reason`, which is for your log.
 */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError" as const;
  readonly reason: VerificationErrorReason;
  /**
   * The current time minus the signature's, in seconds: above 0 for `stale`, below 0 for `future`,
   * otherwise undefined.
   */
  readonly skewSeconds: number | undefined;

  constructor(
    reason: VerificationErrorReason,
    { skewSeconds }: { skewSeconds?: number | undefined } = {},
  ) {
    super(
      `The delivery was rejected: ${describeRejection(reason, skewSeconds)}${formatErrorLink(`webhook-${reason}`)}`,
    );
    this.reason = reason;
    this.skewSeconds = skewSeconds;
  }
}

// In a program with two copies of this package, `instanceof` does not recognize the error.
Object.defineProperty(WebhookVerificationError.prototype, webhookErrorBrand, { value: true });

/**
 * Whether a value is a {@link WebhookVerificationError}, including one of another copy of the
 * package.
 * @example
 * ```ts
 * import { isWebhookVerificationError } from "@loyalty-cards/webhook-verify";
 *
 * export function statusFor(error: unknown): number {
 *   if (isWebhookVerificationError(error)) return error.reason === "invalid-payload" ? 400 : 401;
 *   throw error;
 * }
 * ```
 */
export function isWebhookVerificationError(value: unknown): value is WebhookVerificationError {
  return (
    typeof value === "object" &&
    value !== null &&
    (value as Record<symbol, unknown>)[webhookErrorBrand] === true
  );
}
