/** An attempt without a usable answer. Stays inside the client: the caller's error is made of it. */

export interface AttemptFacts {
  code: "network" | "timeout" | "invalid-response";
  /** Whether the service may have seen the request. */
  wasSent: boolean;
  retryable?: boolean;
  /** Of the runtime's error only its code: its texts and members can hold what was sent or received. */
  networkCode?: string;
}

export class AttemptFailure extends Error {
  readonly code: AttemptFacts["code"];
  readonly wasSent: boolean;
  readonly retryable: boolean;
  readonly networkCode: string | undefined;

  constructor(message: string, { code, wasSent, retryable = true, networkCode }: AttemptFacts) {
    super(message);
    this.code = code;
    this.wasSent = wasSent;
    this.retryable = retryable;
    this.networkCode = networkCode;
  }
}
