/** What makes a delivery untrustworthy, as an error to switch on. */

export type VerificationFault =
  | "missing-signature"
  | "malformed-signature"
  | "stale"
  | "future"
  | "mismatch"
  | "invalid-payload";

/** Why a delivery is not trusted, and for `stale` and `future` by how much. */
export interface Refusal {
  reason: VerificationFault;
  /** The current time minus the signature's, in seconds. */
  skewSeconds?: number | undefined;
}

/** What a person has to check, for error messages and log lines. Holds nothing of the delivery but the age of its signature. */
export function describeRefusal({ reason, skewSeconds = Number.NaN }: Refusal): string {
  switch (reason) {
    case "missing-signature":
      return "missing-signature; is this the service, or does a proxy remove the Service-Signature header?";
    case "malformed-signature":
      return "malformed-signature; the Service-Signature header must be t=<unix seconds>,v1=<64 hex digits>, once. Does a proxy change it?";
    case "stale":
      return `stale by ${skewSeconds} s: check the clock of this machine. The delivery was signed that long ago, which is more than toleranceSeconds.`;
    case "future":
      return `future by ${-skewSeconds} s: check the clock of this machine. The delivery was signed that far ahead of it, which is more than toleranceSeconds.`;
    case "mismatch":
      return "mismatch; is this the secret of this endpoint? Each endpoint has its own. A body that was parsed or changed by a proxy does not match either.";
    case "invalid-payload":
      return "invalid-payload; it is signed, and is no event: a JSON object with the strings id, type and createdAt.";
  }
}

/** Survives two copies of this package in one program, where instanceof does not. */
const brand = Symbol.for("@loyalty-cards/webhook-verify/error");

/** Thrown when a delivery cannot be trusted. Answer 401 (400 for `invalid-payload`), and keep `reason` to yourself. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError" as const;
  readonly reason: VerificationFault;
  /** The current time minus the signature's, in seconds: above 0 for `stale`, below 0 for `future`, otherwise undefined. */
  readonly skewSeconds: number | undefined;

  constructor(reason: VerificationFault, { skewSeconds }: { skewSeconds?: number | undefined } = {}) {
    super(`The delivery cannot be trusted: ${describeRefusal({ reason, skewSeconds })}`);
    this.reason = reason;
    this.skewSeconds = skewSeconds;
  }
}

Object.defineProperty(WebhookVerificationError.prototype, brand, { value: true });

/**
 * True for every {@link WebhookVerificationError}, also when another copy of the package threw it.
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
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** The error without a stack: a refusal must not cost more than an acceptance, and where it was thrown says nothing. */
export function refusal({ reason, ...details }: Refusal): WebhookVerificationError {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, "stackTraceLimit", 0); // without effect, but also without an exception, where Error is frozen
  const error = new WebhookVerificationError(reason, details);
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return error;
}
