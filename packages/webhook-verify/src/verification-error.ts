/** What makes a delivery untrustworthy, as an error to switch on. */

export type VerificationFault =
  | "missing-signature"
  | "malformed-signature"
  | "stale"
  | "future"
  | "mismatch"
  | "invalid-payload";

/** Thrown when a delivery cannot be trusted. Answer 401 (400 for `invalid-payload`), and keep `reason` to yourself. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError" as const;
  readonly reason: VerificationFault;

  constructor(reason: VerificationFault) {
    super(`The delivery cannot be trusted: ${reason}.`);
    this.reason = reason;
  }
}

/** The error without a stack: a refusal must not cost more than an acceptance, and where it was thrown says nothing. */
export function refusal(reason: VerificationFault): WebhookVerificationError {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, "stackTraceLimit", 0); // without effect, but also without an exception, where Error is frozen
  const error = new WebhookVerificationError(reason);
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return error;
}
