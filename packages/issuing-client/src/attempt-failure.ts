/** An attempt without a usable answer. Stays inside the client: the caller's error is made of it. */

export interface AttemptFacts {
  code: "network" | "timeout" | "invalid-response";
  /** Whether the service may have seen the request. */
  wasSent: boolean;
  retryable?: boolean;
  cause?: unknown;
}

export class AttemptFailure extends Error {
  readonly code: AttemptFacts["code"];
  readonly wasSent: boolean;
  readonly retryable: boolean;

  constructor(message: string, { code, wasSent, retryable = true, cause }: AttemptFacts) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.wasSent = wasSent;
    this.retryable = retryable;
  }
}
