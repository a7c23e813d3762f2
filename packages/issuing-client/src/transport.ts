/** What carries one request to the service: the runtime's fetch, or a faster one for servers. */

/** A request as it goes out, as often as needed: everything in it is text. */
export interface OutgoingRequest {
  method: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body?: string;
}

/** An answer of which only the head has come. */
export interface IncomingAnswer {
  status: number;
  /** @param name in lower case. */
  header(name: string): string | null;
  headers(): Headers;
  /** Reads the body to its end. @throws {@link UnreadableBody}, at the latest at `maxBytes`, and what the connection throws. */
  text(maxBytes: number): Promise<string>;
  /** Ends the connection's wait for a body that nobody reads. */
  discard(): void;
}

/** A request under way. */
export interface Sending {
  answer: Promise<IncomingAnswer>;
  /** Gives up, also while the body is read. Told at most once. */
  stop(reason: unknown): void;
}

/** Sends once, follows no redirect, repeats nothing: time limits and retries are the client's. */
export type Transport = (url: string, request: OutgoingRequest) => Sending;

/** The body came, or would come, and cannot be used. The message completes "The service answered with ….". */
export class UnreadableBody extends Error {
  /** Whether another answer may be better. */
  readonly retryable: boolean;

  constructor(what: string, retryable: boolean) {
    super(what);
    this.retryable = retryable;
  }
}

export const tooLong = (maxBytes: number) => new UnreadableBody(`more than ${maxBytes} bytes`, false);

/** Whether the answer says itself that its body is no longer than this. Of an encoded body the length tells nothing. */
export function isAnnouncedWithin(maxBytes: number, answer: Pick<IncomingAnswer, "header">): boolean {
  const announced = answer.header("content-length");
  return announced !== null && Number(announced) <= maxBytes && answer.header("content-encoding") === null;
}
