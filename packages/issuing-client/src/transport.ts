/** What both transports share: a request, a response whose body was read, and their failures. */

/** A request. Everything in it is text, so it can be sent again. */
export interface HttpRequest {
  method: string;
  /** Follows the address of the service. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON; undefined when the request has no body. */
  body: string | undefined;
}

/** A response. */
export interface HttpResponse {
  status: number;
  /** Returns the value of a header, or null. @param name in lower case. */
  header(name: string): string | null;
  headers(): Headers;
  /** The body as UTF-8; `""` for a redirect, whose body is not read. */
  text: string;
  /** Why the body could not be read. */
  bodyError?: ConnectionError | UnreadableBodyError | undefined;
}

/** A request that was sent. */
export interface Exchange {
  /** Resolves when the body has arrived. Rejects with a {@link ConnectionError} when no head of a response has arrived. */
  response: Promise<HttpResponse>;
  /** Ends the request, also while the body is read. */
  abort(): void;
}

/** Sends one request to the service whose address it was created with. It follows no redirect and does not retry: `send` applies time limits and retries. */
export type Transport = (request: HttpRequest) => Exchange;

/** The connection failed. Anything else that a transport throws is a mistake in the program, and is not retried. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super("The connection failed.", { cause });
  }
}

/** The body has arrived, but cannot be used. */
export class UnreadableBodyError extends Error {
  /** Whether another attempt may return a usable body. */
  readonly retryable: boolean;

  /** @param message completes the sentence "The service responded with …". */
  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/** A response of the service has a few kilobytes. */
export const maxBodyBytes = 4 * 1024 * 1024;

export const tooLongError = () => new UnreadableBodyError(`more than ${maxBodyBytes} bytes`, false);

/** Creates `Headers`, without the names and values that HTTP parsers accept and `Headers` does not. */
export function toHeaders(pairs: Iterable<[string, string]>): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) {
    try {
      headers.append(name, value);
    } catch {
      // The rest of the response is usable.
    }
  }
  return headers;
}
