/** What a transport sends and returns, and what both transports do with a response. */
import type { Result } from "@loyalty-cards/internal/result";

/** A request to the service. Everything in it is text, so it can be sent again. */
export interface HttpRequest {
  method: string;
  /** The path, which follows the address of the service. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** Undefined when the request has no body. */
  body?: string | undefined;
}

export interface HttpResponse {
  status: number;
  /**
   * Returns the value of a header, or null.
   * @param name in lower case.
   */
  header(name: string): string | null;
  headers(): Headers;
  /** The body as UTF-8; `""` for a redirect, whose body is not read. */
  body: Result<string, AttemptFailure>;
}

/** An attempt without a usable response. */
export interface AttemptFailure {
  code: "network" | "timeout" | "deadline" | "invalid-response" | "configuration";
  message: string;
  /** Whether the service may have received the request. */
  wasSent: boolean;
  retryable: boolean;
  status?: number;
  /** The code of the runtime's error. */
  networkCode?: string | undefined;
  /** The id of a card that exists although the response is invalid. */
  cardId?: string | undefined;
}

/**
 * Sends one request to the service whose address it was created with. It follows no redirect and
 * does not retry: `send` applies time limits and retries.
 */
export type Transport = (request: HttpRequest) => {
  /**
   * Resolves when the body has arrived, or when the connection failed before the head of a
   * response.
   */
  response: Promise<Result<HttpResponse, AttemptFailure>>;
  /** Ends the request, also while the body is read. */
  abort(): void;
};

/**
 * The failure of a response that cannot be used.
 * @param what completes the sentence "The service responded with …".
 */
export function unusable(
  status: number,
  what: string,
  { isRetryable = false, cardId }: { isRetryable?: boolean; cardId?: string | undefined } = {},
): { failure: AttemptFailure } {
  const message = `The service responded with ${what}`;
  const code = "invalid-response";
  return { failure: { code, message, wasSent: true, retryable: isRetryable, status, cardId } };
}

/** The failure of a request that the configuration prevents. A retry would not help. */
export function notSent(message: string, networkCode?: string): { failure: AttemptFailure } {
  const code = "configuration";
  return { failure: { code, message, wasSent: false, retryable: false, networkCode } };
}

/** A response of the service has a few kilobytes. */
export const maxBodyBytes = 4 * 1024 * 1024;

export const tooLong = (status: number) => unusable(status, `more than ${maxBodyBytes} bytes.`);

/**
 * Creates `Headers`, without the names and values that HTTP parsers accept and `Headers` does not.
 */
export function toHeaders(pairs: Iterable<readonly [string, string]>): Headers {
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
