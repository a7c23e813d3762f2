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
  /** Reads the body to its end. @throws {@link BodyTooLarge} beyond `maxBytes`, and what the connection throws. */
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

export class BodyTooLarge extends Error {}

/** Whether the answer says itself that its body is no longer than this. Of an encoded body the length tells nothing. */
export function isAnnouncedWithin(maxBytes: number, answer: Pick<IncomingAnswer, "header">): boolean {
  const announced = answer.header("content-length");
  return announced !== null && Number(announced) <= maxBytes && answer.header("content-encoding") === null;
}
