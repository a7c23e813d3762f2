/** What makes a delivery untrustworthy, as an error to switch on. */

export type VerificationFault =
  | "missing-signature"
  | "malformed-signature"
  | "stale"
  | "future"
  | "mismatch"
  | "invalid-payload";

const sentences = {
  "missing-signature": "There is no Service-Signature header.",
  "malformed-signature": "The Service-Signature header is not of the form t=<unix seconds>,v1=<hex>.",
  stale: "The signature is older than the tolerance.",
  future: "The signature is further in the future than the tolerance.",
  mismatch: "No signature matches the body under any secret.",
  "invalid-payload": "The body is signed, but it is not an event.",
} satisfies Record<VerificationFault, string>;

/** Thrown when a delivery cannot be trusted. Answer 401 (400 for `invalid-payload`), and keep `reason` to yourself. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError" as const;
  readonly reason: VerificationFault;

  constructor(reason: VerificationFault) {
    super(sentences[reason]);
    this.reason = reason;
  }
}
